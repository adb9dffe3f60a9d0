import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import { withoutAdmission, type Admitted } from './admission/admission-step.ts';
import { isJsonObject, objectAt, type JsonObject } from './json-value.ts';
import { resourceOf, type Kind } from './kind.ts';
import { shownAs } from './listing.ts';
import { isFinal } from './object-parts.ts';
import { rfc3339 } from './rfc3339.ts';
import { badRequest, conflict, forbidden, invalid, notFound } from './status-error.ts';
import type { Storage } from './storage.ts';
import { checkDryRun } from './write-options.ts';

/** Finalizers by which the garbage collector is asked to act before the owner goes. */
export const ORPHAN_FINALIZER = 'orphan';
export const FOREGROUND_FINALIZER = 'foregroundDeletion';

const POLICIES = ['Background', 'Foreground', 'Orphan'] as const;
type Policy = (typeof POLICIES)[number];

/** `DeleteOptions`, the part that is looked at. */
export interface RemoveOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly policy: Policy | undefined;
  readonly dryRun: boolean;
  /** `DeleteOptions` as requested, for admission webhooks. */
  readonly sent?: JsonObject;
}

const PROTECTED_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Reads DeleteOptions from the body and the query; the body wins. @throws StatusError 400, 422 */
export function parseRemoveOptions(body: unknown, query: URLSearchParams): RemoveOptions {
  const options = isJsonObject(body) ? body : {};
  if (options['kind'] !== undefined && options['kind'] !== 'DeleteOptions') {
    throw badRequest(`${JSON.stringify(options['kind'])} is not a DeleteOptions`);
  }
  const orphan = options['orphanDependents'] ?? (query.get('orphanDependents') ?? undefined) === 'true';
  const wanted = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  const policy = POLICIES.find((candidate) => candidate === wanted);
  if (wanted !== undefined && policy === undefined) {
    throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [
      {
        reason: 'FieldValueNotSupported',
        field: 'propagationPolicy',
        value: wanted,
        detail: 'supported values: "Foreground", "Background", "Orphan", "nil"',
      },
    ]);
  }
  if (policy !== undefined && options['orphanDependents'] !== undefined) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set';
    throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [
      { reason: 'FieldValueInvalid', field: 'propagationPolicy', value: policy, detail },
    ]);
  }
  const { uid, resourceVersion } = objectAt(options, 'preconditions');
  const dryRun = options['dryRun'] ?? query.getAll('dryRun').filter((value) => value !== '');
  if (Array.isArray(dryRun)) checkDryRun('DeleteOptions', dryRun);
  return {
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    policy: policy ?? (orphan === true ? 'Orphan' : undefined),
    dryRun: Array.isArray(dryRun) && dryRun.includes('All'),
    sent: sentOptions(options, query),
  };
}

function sentOptions(options: JsonObject, query: URLSearchParams): JsonObject {
  const dryRun = query.getAll('dryRun');
  const propagationPolicy = query.get('propagationPolicy');
  return {
    ...options,
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun.length === 0 ? {} : { dryRun }),
    ...(propagationPolicy === null ? {} : { propagationPolicy }),
  };
}

/** Deletes objects, or marks them where finalizers hold them. */
export class ObjectRemover {
  readonly #storage: Storage;
  readonly #clock: Clock;

  constructor(deps: { readonly storage: Storage; readonly clock: Clock }) {
    this.#storage = deps.storage;
    this.#clock = deps.clock;
  }

  /** As one of the server's own controllers. */
  remove(kind: Kind, namespace: string | undefined, name: string, options: RemoveOptions): KubeObject | JsonObject {
    return withoutAdmission(this.removal(kind, namespace, name, options));
  }

  /**
   * @param shownName what webhooks are told; a deletecollection names none
   * @returns the object while something holds it, else a Status that says Success
   * @throws StatusError 403, 404, 409
   */
  *removal(
    kind: Kind,
    namespace: string | undefined,
    name: string,
    options: RemoveOptions,
    shownName = name,
  ): Admitted<KubeObject | JsonObject> {
    const resource = resourceOf(kind);
    for (;;) {
      const live = this.#storage.get(resource, namespace, name);
      if (live === undefined) throw notFound(kind, name);
      checkPreconditions(kind, live, options);
      if (resource === 'namespaces' && PROTECTED_NAMESPACES.has(name)) {
        throw forbidden(kind, name, 'this namespace may not be deleted');
      }
      const shown = {
        operation: 'DELETE',
        subresource: '',
        object: undefined,
        oldObject: shownAs(kind, live),
      } as const;
      const request = {
        ...shown,
        kind,
        namespace,
        name: shownName,
        dryRun: options.dryRun,
        options: options.sent ?? {},
      };
      yield { ...request, phase: 'mutating' };
      yield { ...request, phase: 'validating' };
      if (this.#storage.get(resource, namespace, name) !== live) continue;
      const marked = this.#marked(live, options.policy);
      if (!isFinal(marked)) {
        if (!options.dryRun && marked !== live) this.#storage.put(resource, marked);
        return shownAs(kind, options.dryRun ? marked : (this.#storage.get(resource, namespace, name) ?? marked));
      }
      if (!options.dryRun) this.#storage.remove(resource, live);
      return success(kind, live);
    }
  }

  #marked(live: KubeObject, policy: Policy | undefined): KubeObject {
    const finalizers = withPolicy(live.metadata.finalizers ?? [], policy);
    const sameFinalizers = finalizers.join() === (live.metadata.finalizers ?? []).join();
    if (live.metadata.deletionTimestamp !== undefined) {
      return sameFinalizers ? live : { ...live, metadata: { ...live.metadata, finalizers: [...finalizers] } };
    }
    const { generation, finalizers: _, ...metadata } = live.metadata;
    const deletion = { deletionTimestamp: rfc3339(this.#clock.now()), deletionGracePeriodSeconds: 0 };
    const marked: KubeObject = {
      ...live,
      metadata: {
        ...metadata,
        ...(generation === undefined ? {} : { generation: generation + 1 }),
        ...(finalizers.length === 0 ? {} : { finalizers: [...finalizers] }),
        ...deletion,
      },
    };
    if (live.apiVersion !== 'v1' || live.kind !== 'Namespace') return marked;
    return { ...marked, status: { ...objectAt(live, 'status'), phase: 'Terminating' } };
  }
}

function withPolicy(finalizers: readonly string[], policy: Policy | undefined): readonly string[] {
  if (policy === undefined) return finalizers;
  const others = finalizers.filter((name) => name !== ORPHAN_FINALIZER && name !== FOREGROUND_FINALIZER);
  if (policy === 'Orphan') return [...others, ORPHAN_FINALIZER];
  return policy === 'Foreground' ? [...others, FOREGROUND_FINALIZER] : others;
}

function checkPreconditions(kind: Kind, live: KubeObject, options: RemoveOptions): void {
  const { uid, resourceVersion, name } = live.metadata;
  // The one conflict that names the kind where others name the resource.
  const named = { group: kind.group, plural: kind.kind };
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid ?? ''}). The object might have been deleted and then recreated`;
    throw conflict(named, name, why);
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion ?? ''}). The object might have been modified`;
    throw conflict(named, name, why);
  }
}

function success(kind: Kind, object: KubeObject): JsonObject {
  const { name, uid } = object.metadata;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural, uid },
  };
}
