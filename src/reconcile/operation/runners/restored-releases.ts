import { KubeError } from '../../../kube/cluster-api.ts';
import { HELM_RELEASE, type HelmRelease } from '../../../resources/flux-helm-release.ts';
import type { KubeObject } from '../../../resources/kube-object.ts';
import { veleroLabelValue, VELERO_RESTORE_LABEL } from '../../../resources/velero.ts';
import type { RunnerDeps } from '../template-runner.ts';

/** What a chart mostly has one of, and what the operator may list. */
const WORKLOADS = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;
/** By these the helm-controller says which HelmRelease an object is of. */
const RELEASE_LABEL = 'helm.toolkit.fluxcd.io/name';
const RELEASE_NAMESPACE_LABEL = 'helm.toolkit.fluxcd.io/namespace';
const MOST_NAMESPACES = 20;
const MOST_NAMED = 5;

/**
 * What a restore did to releases behind the back of Helm and Flux, as an end of a sentence: one that stands may run as
 * something else than it says, and what came back of one that does not stand is nobody's. Told by the workloads that carry
 * the restore's name.
 */
export async function restoredReleases(
  { api }: Pick<RunnerDeps, 'api'>,
  restore: string,
  targets: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const labelSelector = `${VELERO_RESTORE_LABEL}=${veleroLabelValue(restore)},${RELEASE_LABEL}`;
  const overwritten = new Set<string>();
  const alone = new Set<string>();
  try {
    for (const namespace of targets.slice(0, MOST_NAMESPACES)) {
      for (const kind of WORKLOADS) {
        const { items } = await api.list<KubeObject>(
          { apiVersion: 'apps/v1', kind },
          { namespace, labelSelector },
          signal,
        );
        for (const item of items) {
          const { name = '', in: place = namespace } = releaseOf(item);
          const isThere = await isReleasedTo(api, { namespace: place, name }, namespace, signal);
          if (isThere) overwritten.add(`${place}/${name}`);
          else alone.add(`${kind} ${namespace}/${item.metadata.name}`);
        }
      }
    }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return `; what came back of releases could not be looked at: ${error.message}`;
  }
  const mended = `what it put back of ${named(overwritten)} may not be what its release says; release-reconcile with force puts that right`;
  const lost = `${named(alone)} came back of a release that does not stand here, so nothing updates or uninstalls it`;
  return [...(overwritten.size > 0 ? [mended] : []), ...(alone.size > 0 ? [lost] : [])]
    .map((text) => `; ${text}`)
    .join('');
}

function releaseOf({ metadata: { labels = {} } }: KubeObject): { readonly name?: string; readonly in?: string } {
  const { [RELEASE_LABEL]: name, [RELEASE_NAMESPACE_LABEL]: place } = labels;
  return { ...(name === undefined ? {} : { name }), ...(place === undefined ? {} : { in: place }) };
}

/** Whether the release stands and is there: a copy of its objects in another namespace is not it. */
async function isReleasedTo(
  api: RunnerDeps['api'],
  { namespace, name }: { readonly namespace: string; readonly name: string },
  target: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { items } = await api.list<HelmRelease>(
    HELM_RELEASE,
    { namespace, fieldSelector: `metadata.name=${name}` },
    signal,
  );
  return items.some(({ spec }) => (spec.targetNamespace ?? namespace) === target);
}

function named(names: ReadonlySet<string>): string {
  const rest = names.size - MOST_NAMED;
  return `${[...names].slice(0, MOST_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
