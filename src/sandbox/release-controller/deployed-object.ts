import { createHash } from 'node:crypto';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { HelmReleaseSpec } from '../../resources/flux-helm-release.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import type { Values } from './chart-values.ts';
import { ignoredPaths, withValuesOf } from './drift-ignore.ts';
import type { DesiredRelease } from './release-history.ts';

/** helm-controller's field manager on everything that a release brings. */
export const HELM_FIELD_MANAGER = 'helm-controller';
/** Which HelmRelease an object came from. */
export const RELEASE_NAME_LABEL = 'helm.toolkit.fluxcd.io/name';
export const RELEASE_NAMESPACE_LABEL = 'helm.toolkit.fluxcd.io/namespace';
/** Whom the release was applied as: the sandbox has no impersonation, so it is written down. */
export const APPLIED_AS_ANNOTATION = 'sandbox.service.io/applied-as';

const DEPLOYMENT = { apiVersion: 'apps/v1', kind: 'Deployment' } as const;

/** A difference between what the release applied and what is there now. */
export interface Drift {
  /** `Deployment/shop/podinfo changed (0 additions, 1 changes, 0 removals)`, as helm-controller sums up. */
  readonly summary: string;
  readonly object: KubeObject;
}

/** The one object that every chart of the shelf renders: a Deployment named like the release. */
export function renderDeployment(release: KubeObject, desired: DesiredRelease, values: Values): KubeObject {
  const spec = release['spec'] as HelmReleaseSpec;
  const labels = { 'app.kubernetes.io/name': desired.chartName, 'app.kubernetes.io/instance': desired.name };
  const namespace = release.metadata.namespace ?? 'default';
  return {
    ...DEPLOYMENT,
    metadata: {
      name: desired.name,
      namespace: desired.namespace,
      labels: {
        ...labels,
        'app.kubernetes.io/managed-by': 'Helm',
        'helm.sh/chart': `${desired.chartName}-${desired.chartVersion.replace('+', '_')}`,
        [RELEASE_NAME_LABEL]: release.metadata.name,
        [RELEASE_NAMESPACE_LABEL]: namespace,
      },
      annotations: {
        'meta.helm.sh/release-name': desired.name,
        'meta.helm.sh/release-namespace': desired.namespace,
        [APPLIED_AS_ANNOTATION]:
          spec.serviceAccountName === undefined
            ? 'helm-controller'
            : `system:serviceaccount:${namespace}:${spec.serviceAccountName}`,
      },
    },
    spec: {
      replicas: typeof values['replicaCount'] === 'number' ? values['replicaCount'] : 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: desired.chartName, image: imageOf(desired, values) }] },
      },
    },
  };
}

/** `sha256:<hex>` over what was rendered, the `digest` of a snapshot. */
export function renderDigest(rendered: KubeObject): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(rendered)).digest('hex')}`;
}

export async function applyDeployment(api: ClusterApi, rendered: KubeObject, signal: AbortSignal): Promise<void> {
  await api.apply(rendered, { fieldManager: HELM_FIELD_MANAGER, force: true }, signal);
}

export async function deleteDeployment(
  api: ClusterApi,
  release: { readonly name: string; readonly namespace: string },
  signal: AbortSignal,
): Promise<void> {
  await api.delete({ ...DEPLOYMENT, ...release }, { propagationPolicy: 'Background' }, signal);
}

/**
 * Asks the server what applying would change, but for what the rules leave alone: the spec, and labels and annotations that
 * the chart sets.
 */
export async function findDrift(
  api: ClusterApi,
  rendered: KubeObject,
  rules: NonNullable<HelmReleaseSpec['driftDetection']>['ignore'],
  signal: AbortSignal,
): Promise<Drift | undefined> {
  const ignored = ignoredPaths(rendered, rules ?? []);
  if (ignored.includes('')) return undefined;
  const where = `${rendered.kind}/${rendered.metadata.namespace ?? ''}/${rendered.metadata.name}`;
  const live = await api.get(refOf(rendered), signal);
  if (live === undefined) return { summary: `${where} removed`, object: rendered };
  const options = { fieldManager: HELM_FIELD_MANAGER, force: true, dryRun: true };
  const wanted = await api.apply(rendered, options, signal);
  const asked = withValuesOf(wanted.object, live, ignored);
  const { labels, annotations } = asked.metadata;
  const changes =
    countChanges(live['spec'], asked['spec']) +
    countSet(live.metadata.labels, labels) +
    countSet(live.metadata.annotations, annotations);
  if (changes === 0) return undefined;
  // What is left alone is applied as it is there.
  const object = withValuesOf(rendered, live, ignored);
  return { summary: `${where} changed (0 additions, ${changes} changes, 0 removals)`, object };
}

/** What others add is no drift of metadata. */
function countSet(live: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): number {
  return Object.entries(wanted).filter(([key, value]) => live[key] !== value).length;
}

function countChanges(live: unknown, wanted: unknown): number {
  if (typeof live !== 'object' || typeof wanted !== 'object' || live === null || wanted === null) {
    return live === wanted ? 0 : 1;
  }
  const a = live as Record<string, unknown>;
  const b = wanted as Record<string, unknown>;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].reduce((sum, key) => sum + countChanges(a[key], b[key]), 0);
}

function imageOf(desired: DesiredRelease, values: Values): string {
  const image = values['image'];
  const given = typeof image === 'object' && image !== null ? (image as Values) : {};
  const repository = typeof given['repository'] === 'string' ? given['repository'] : `example.org/${desired.chartName}`;
  return `${repository}:${typeof given['tag'] === 'string' ? given['tag'] : desired.appVersion}`;
}
