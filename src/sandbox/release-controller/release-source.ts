import type { ClusterApi } from '../../kube/cluster-api.ts';
import { findCondition } from '../../resources/conditions.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../../resources/flux-oci-repository.ts';
import type { ChartShelf, ShelfChart } from './chart-shelf.ts';

/** helm-controller got no source object. */
export const ARTIFACT_FAILED = 'ArtifactFailed';
/** The source is there and has not fetched what the release needs. */
export const SOURCE_NOT_READY = 'SourceNotReady';

export type ReleaseSource =
  | {
      readonly state: 'ready';
      readonly chart: ShelfChart;
      /** What the release calls its chart's version: with the digest as build metadata for a chart by digest. */
      readonly chartVersion: string;
      readonly ociDigest?: string;
    }
  | { readonly state: 'waiting'; readonly reason: string; readonly message: string };

/** Finds the chart that a HelmRelease is to install now, from the status of its source. */
export async function releaseSource(
  api: ClusterApi,
  charts: ChartShelf,
  release: HelmRelease,
  signal: AbortSignal,
): Promise<ReleaseSource> {
  const { chartRef, chart } = release.spec;
  const home = release.metadata.namespace ?? '';
  if (chartRef?.kind === 'OCIRepository') {
    const at = { namespace: chartRef.namespace ?? home, name: chartRef.name };
    const source = await api.get<OciRepository>({ ...OCI_REPOSITORY, ...at }, signal);
    return source === undefined ? absent('OCIRepository.source.toolkit.fluxcd.io', at.name) : fromOci(charts, source);
  }
  if (chart?.spec.sourceRef.kind === 'HelmRepository') {
    const { name, namespace } = chart.spec.sourceRef;
    const at = { namespace: namespace ?? home, name };
    const source = await api.get<HelmRepository>({ ...HELM_REPOSITORY, ...at }, signal);
    return source === undefined
      ? absent('HelmRepository.source.toolkit.fluxcd.io', name)
      : fromIndex(charts, source, chart.spec, `${home}-${release.metadata.name}`);
  }
  const kind = chartRef?.kind ?? chart?.spec.sourceRef.kind ?? 'none';
  return {
    state: 'waiting',
    reason: ARTIFACT_FAILED,
    message: `could not get Source object: no source of kind ${kind}`,
  };
}

function fromOci(charts: ChartShelf, source: OciRepository): ReleaseSource {
  const problem = notReady(source);
  if (problem !== undefined) return problem;
  const revision = source.status?.artifact?.revision ?? '';
  const ociDigest = revision.slice(revision.indexOf('@') + 1);
  const chart = charts.findByDigest(source.spec.url, ociDigest);
  if (chart === undefined) {
    return { state: 'waiting', reason: ARTIFACT_FAILED, message: `Could not load chart: ${revision} is gone` };
  }
  const hex = ociDigest.slice('sha256:'.length);
  return { state: 'ready', chart, chartVersion: `${chart.version}+${hex.slice(0, 12)}`, ociDigest };
}

function fromIndex(
  charts: ChartShelf,
  source: HelmRepository,
  spec: { readonly chart: string; readonly version?: string },
  helmChart: string,
): ReleaseSource {
  const oci = source.spec.type === 'oci';
  const problem = oci ? undefined : notReady(source);
  if (problem !== undefined) return problem;
  const base = source.spec.url.replace(/\/+$/, '');
  const range = spec.version ?? '*';
  const chart = charts.find({ url: oci ? `${base}/${spec.chart}` : base, name: spec.chart, range });
  if (chart !== undefined) return { state: 'ready', chart, chartVersion: chart.version };
  const namespace = source.metadata.namespace ?? '';
  const why = `no '${spec.chart}' chart with version matching '${range}' found`;
  const message = `HelmChart '${namespace}/${helmChart}' is not ready: invalid chart reference: failed to get chart version for remote reference: ${why}`;
  return { state: 'waiting', reason: SOURCE_NOT_READY, message };
}

function notReady(source: OciRepository | HelmRepository): ReleaseSource | undefined {
  const { status, metadata, kind } = source;
  const ready = findCondition(status?.conditions, 'Ready');
  const stalled = findCondition(status?.conditions, 'Stalled');
  let why: string | undefined;
  if (status?.observedGeneration !== metadata.generation) {
    const failed = ready?.status === 'False' ? ready.message : undefined;
    why = failed ?? 'latest generation of object has not been reconciled';
  } else if (stalled?.status === 'True') {
    why = stalled.message ?? '';
  } else if (status?.artifact === undefined) {
    why = 'does not have an artifact';
  }
  if (why === undefined) return undefined;
  const message = `${kind} '${metadata.namespace ?? ''}/${metadata.name}' is not ready: ${why}`;
  return { state: 'waiting', reason: SOURCE_NOT_READY, message };
}

function absent(kind: string, name: string): ReleaseSource {
  return {
    state: 'waiting',
    reason: ARTIFACT_FAILED,
    message: `could not get Source object: ${kind} "${name}" not found`,
  };
}
