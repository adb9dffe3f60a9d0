import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { WorkResult } from '../../kube/work-queue.ts';
import { RECONCILE_REQUEST_ANNOTATION, type Artifact } from '../../resources/flux-meta.ts';
import type { HELM_REPOSITORY, HelmRepository } from '../../resources/flux-helm-repository.ts';
import type { OCI_REPOSITORY, OciRepository } from '../../resources/flux-oci-repository.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import { digestOf, type ChartShelf } from './chart-shelf.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from './finalizer.ts';
import { FluxCondition, StatusDraft } from './flux-status.ts';
import type { FluxEvents } from './flux-events.ts';
import { milliseconds } from './go-duration.ts';

export const SOURCE_FIELD_MANAGER = 'source-controller';
/** The registry has no such tag, or does not answer. */
export const OCI_ARTIFACT_PULL_FAILED = 'OCIArtifactPullFailed';
/** The URL is not one of a registry. */
export const URL_INVALID = 'URLInvalid';
/** The index of a Helm repository cannot be fetched. */
export const INDEXATION_FAILED = 'IndexationFailed';
export const SUCCEEDED = 'Succeeded';
/** Failed, and tried again by itself. */
export const PROGRESSING_WITH_RETRY = 'ProgressingWithRetry';
export const PROGRESSING = 'Progressing';

type SourceStatus = NonNullable<OciRepository['status']>;
type Fetched =
  | { readonly state: 'fetched'; readonly artifact: Omit<Artifact, 'lastUpdateTime'> }
  | { readonly state: 'failed' | 'stalled'; readonly reason: string; readonly message: string };

export interface SourceDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly charts: ChartShelf;
  readonly events: FluxEvents;
  readonly fetchMs: number;
}

/** Behaves towards one OCIRepository or HelmRepository as source-controller does, seen from its status. */
export async function reconcileSource(
  deps: SourceDeps,
  kind: typeof OCI_REPOSITORY | typeof HELM_REPOSITORY,
  name: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<WorkResult> {
  const object = await deps.api.get<OciRepository | HelmRepository>({ ...kind, ...name }, signal);
  if (object === undefined) return {};
  if (object.metadata.deletionTimestamp !== undefined) {
    if (hasFinalizer(object)) await removeFinalizer(deps.api, object, SOURCE_FIELD_MANAGER, signal);
    return {};
  }
  if (!hasFinalizer(object)) await addFinalizer(deps.api, object, SOURCE_FIELD_MANAGER, signal);
  if (object.spec.suspend === true) return {};
  const draft = new StatusDraft<SourceStatus>({
    api: deps.api,
    clock: deps.clock,
    fieldManager: SOURCE_FIELD_MANAGER,
    object,
  });
  const requested = object.metadata.annotations?.[RECONCILE_REQUEST_ANNOTATION];
  if (requested !== undefined) draft.status.lastHandledReconcileAt = requested;
  // source-controller keeps no status of a HelmRepository of type oci: it is only an address.
  if ('type' in object.spec && object.spec.type === 'oci') return {};
  if (deps.fetchMs > 0) {
    progress(draft, 'reconciliation in progress');
    await draft.write(signal);
    await deps.clock.sleep(deps.fetchMs, signal);
  }
  const fetched =
    object.kind === 'OCIRepository'
      ? fetchArtifact(deps.charts, object as OciRepository)
      : fetchIndex(deps.charts, object);
  settle(deps, draft, object, fetched);
  await draft.write(signal);
  const interval = milliseconds(object.spec.interval ?? '1m');
  return { requeueAfterMs: fetched.state === 'failed' ? Math.min(interval, 30_000) : interval };
}

function settle(deps: SourceDeps, draft: StatusDraft<SourceStatus>, object: KubeObject, fetched: Fetched): void {
  if (fetched.state !== 'fetched') {
    const { reason, message } = fetched;
    draft.set(FluxCondition.FetchFailed, { status: 'True', reason, message });
    draft.set(FluxCondition.Ready, { status: 'False', reason, message });
    deps.events.record(object, { type: 'Warning', reason, message });
    if (fetched.state === 'stalled') {
      draft.stall(reason, message);
      draft.status.observedGeneration = draft.generation;
      return;
    }
    // The observed generation stays behind: this generation has not been fetched yet.
    draft.set(FluxCondition.Reconciling, { status: 'True', reason: PROGRESSING_WITH_RETRY, message });
    return;
  }
  const changed = draft.status.artifact?.revision !== fetched.artifact.revision;
  const what = object.kind === 'OCIRepository' ? 'stored artifact for digest' : 'stored artifact: revision';
  const message = `${what} '${fetched.artifact.revision}'`;
  if (changed) {
    draft.status.artifact = { ...fetched.artifact, lastUpdateTime: draft.now() };
    deps.events.record(object, { type: 'Normal', reason: 'NewArtifact', message });
  }
  draft.status.url = fetched.artifact.url.replace(/[^/]*$/, 'latest.tar.gz');
  draft.clear(FluxCondition.Reconciling, FluxCondition.Stalled, FluxCondition.FetchFailed);
  draft.set(FluxCondition.Ready, { status: 'True', reason: SUCCEEDED, message });
  draft.set(FluxCondition.ArtifactInStorage, { status: 'True', reason: SUCCEEDED, message });
  draft.status.observedGeneration = draft.generation;
}

function progress(draft: StatusDraft<SourceStatus>, message: string): void {
  draft.set(FluxCondition.Reconciling, { status: 'True', reason: PROGRESSING, message });
  draft.set(FluxCondition.Ready, { status: 'Unknown', reason: PROGRESSING, message });
}

function fetchArtifact(charts: ChartShelf, { metadata, spec }: OciRepository): Fetched {
  const match = /^oci:\/\/([^/]+)\/(.+)$/.exec(spec.url);
  if (match === null) {
    const message = `URL validation failed for '${spec.url}': URL must be in format 'oci://<domain>/<org>/<repo>'`;
    return { state: 'stalled', reason: URL_INVALID, message };
  }
  const [, host = '', repository = ''] = match;
  const { digest, semver, tag = 'latest' } = spec.ref ?? {};
  const range = semver ?? tag;
  const chart = digest === undefined ? charts.find({ url: spec.url, range }) : charts.findByDigest(spec.url, digest);
  if (chart === undefined && semver !== undefined && charts.hasUrl(spec.url)) {
    const message = `failed to determine the artifact tag for '${spec.url}': no match found for semver: ${semver}`;
    return { state: 'failed', reason: 'ReadOperationFailed', message };
  }
  if (chart === undefined || (semver === undefined && digest === undefined && chart.version !== tag)) {
    const manifest = `https://${host}/v2/${repository}/manifests/${digest ?? tag}`;
    const answer = charts.hasUrl(spec.url)
      ? 'MANIFEST_UNKNOWN: manifest unknown'
      : 'NAME_UNKNOWN: repository name not known to registry';
    const message = `failed to determine artifact digest: GET ${manifest}: ${answer}`;
    return { state: 'failed', reason: OCI_ARTIFACT_PULL_FAILED, message };
  }
  const content = digestOf(chart);
  const hex = content.slice('sha256:'.length);
  const path = `ocirepository/${metadata.namespace ?? ''}/${metadata.name}/sha256:${hex}.tar.gz`;
  return {
    state: 'fetched',
    artifact: {
      revision: digest === undefined ? `${chart.version}@${content}` : content,
      digest: content,
      path,
      url: `http://source-controller.flux-system.svc.cluster.local./${path}`,
      size: 14_000 + chart.version.length,
      metadata: { 'org.opencontainers.image.title': chart.name, 'org.opencontainers.image.version': chart.version },
    },
  };
}

function fetchIndex(charts: ChartShelf, { metadata, spec }: HelmRepository): Fetched {
  const url = spec.url.replace(/\/+$/, '');
  if (!charts.hasUrl(url)) {
    const message = `failed to fetch Helm repository index: failed to cache index to temporary file: failed to fetch ${url}/index.yaml : 404 Not Found`;
    return { state: 'failed', reason: INDEXATION_FAILED, message };
  }
  const revision = digestOf({ url, name: '', version: '', appVersion: '', validate: () => undefined });
  const path = `helmrepository/${metadata.namespace ?? ''}/${metadata.name}/index-${revision.slice(7)}.yaml`;
  return {
    state: 'fetched',
    artifact: {
      revision,
      digest: revision,
      path,
      url: `http://source-controller.flux-system.svc.cluster.local./${path}`,
      size: 4_096,
    },
  };
}
