import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import { KubeError, type ClusterApi, type KindRef } from './cluster-api.ts';
import { ABORTED, KIND_NOT_FOUND } from './kube-fault.ts';

const LOOK_MS = 100;
/** Far above what a loaded API server takes, and above the 10 s after which a missing kind is looked for anew. */
const SERVED_MS = 60_000;

export interface ServedDeps {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Applies CustomResourceDefinitions; resolves once each kind of them is served. @throws KubeError */
export async function defineKinds(
  api: Pick<ClusterApi, 'apply' | 'get' | 'list'>,
  definitions: readonly KubeObject[],
  { fieldManager, ...deps }: ServedDeps & { readonly fieldManager: string },
): Promise<void> {
  for (const definition of definitions) await api.apply(definition, { fieldManager }, deps.signal);
  await untilServed(api, definitions, deps);
}

/**
 * Resolves once every kind of these CustomResourceDefinitions is served, in each of its versions: discovery, and then the
 * storage behind it, follow a moment after a definition is taken, and not for all kinds of a group at once.
 *
 * @throws KubeError of the last look after a minute, and at once where another look changes nothing
 */
export async function untilServed(
  api: Pick<ClusterApi, 'get' | 'list'>,
  definitions: readonly KubeObject[],
  { clock, signal }: ServedDeps,
): Promise<void> {
  const until = clock.now().getTime() + SERVED_MS;
  const look = async (what: string, isThere: () => Promise<boolean>): Promise<void> => {
    for (;;) {
      let fault: unknown;
      try {
        if (await isThere()) return;
      } catch (error) {
        if (!mayPass(error)) throw error;
        fault = error;
      }
      if (clock.now().getTime() >= until) {
        const message = `${what} is not served ${SERVED_MS / 1000} s after its definition was taken`;
        const why = fault instanceof Error ? `: ${fault.message}` : '';
        throw new KubeError(message + why, { status: 404, reason: KIND_NOT_FOUND, cause: fault });
      }
      await clock.sleep(LOOK_MS, signal);
    }
  };
  // First of all definitions, so that discovery, which is kept for a while, is hardly ever read too early.
  for (const definition of definitions) {
    const { apiVersion, kind, metadata } = definition;
    const ref = { apiVersion, kind, name: metadata.name };
    await look(metadata.name, async () => isEstablished(await api.get<KubeObject>(ref, signal)));
  }
  for (const kind of definitions.flatMap(kindsOf)) {
    await look(`${kind.kind} of ${kind.apiVersion}`, async () => {
      await api.list(kind, { atMost: 1 }, signal);
      return true;
    });
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof KubeError && error.reason !== ABORTED && (error.status === 404 || error.retryable);
}

function isEstablished(definition: KubeObject | undefined): boolean {
  // A server that has not looked at it yet answers `conditions: null`.
  const { conditions } = (definition?.['status'] ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null;
  };
  return conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
}

function kindsOf(definition: KubeObject): KindRef[] {
  const { group, names, versions } = definition['spec'] as {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
  return versions
    .filter(({ served }) => served)
    .map(({ name }) => ({ apiVersion: `${group}/${name}`, kind: names.kind }));
}
