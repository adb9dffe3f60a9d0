import type { HelmReleaseSnapshot } from '../../resources/flux-helm-release.ts';

/** A snapshot as helm-controller writes it; `ociDigest` tells a chart from an OCIRepository. */
export interface Snapshot extends HelmReleaseSnapshot {
  ociDigest?: string;
}

/** What a release is made of: a difference in any of these is a reason to upgrade. */
export interface DesiredRelease {
  readonly name: string;
  readonly namespace: string;
  readonly chartName: string;
  /** With `+<12 hex>` of the digest for a chart from an OCIRepository. */
  readonly chartVersion: string;
  readonly appVersion: string;
  readonly configDigest: string;
  readonly ociDigest?: string;
}

const KEEP_WITHOUT_PREVIOUS = 5;

export function fullReleaseName(snapshot: Snapshot): string {
  return `${snapshot.namespace}/${snapshot.name}.v${snapshot.version}`;
}

export function versionedChartName(snapshot: Pick<Snapshot, 'chartName' | 'chartVersion'>): string {
  return `${snapshot.chartName}@${snapshot.chartVersion}`;
}

export function isInSync(latest: Snapshot, desired: DesiredRelease): boolean {
  return (
    latest.chartName === desired.chartName &&
    latest.chartVersion === desired.chartVersion &&
    latest.configDigest === desired.configDigest
  );
}

/** The history after a release of `desired` with Helm status `status`: newest first, the one before it superseded. */
export function recordRelease(
  history: readonly Snapshot[],
  desired: DesiredRelease,
  status: 'deployed' | 'failed',
  at: { readonly now: string; readonly digest: string },
): Snapshot[] {
  const latest = history[0];
  const continued = latest !== undefined && latest.status !== 'uninstalled';
  const snapshot: Snapshot = {
    name: desired.name,
    namespace: desired.namespace,
    version: (latest?.version ?? 0) + 1,
    status,
    chartName: desired.chartName,
    chartVersion: desired.chartVersion,
    appVersion: desired.appVersion,
    configDigest: desired.configDigest,
    digest: at.digest,
    firstDeployed: continued ? latest.firstDeployed : at.now,
    lastDeployed: at.now,
    ...(desired.ociDigest === undefined ? {} : { ociDigest: desired.ociDigest }),
  };
  // Helm marks the release before as superseded only once the new one is up.
  const earlier = history.map((old) =>
    status === 'deployed' && old.status === 'deployed' ? { ...old, status: 'superseded' } : old,
  );
  return [snapshot, ...earlier];
}

/** The release to roll back to: the newest below the latest that was up. */
export function previousRelease(history: readonly Snapshot[]): Snapshot | undefined {
  return history.slice(1).find((snapshot) => snapshot.status === 'deployed' || snapshot.status === 'superseded');
}

/** What is kept once a release is in sync: down to the one it could be rolled back to. */
export function truncateHistory(history: readonly Snapshot[]): Snapshot[] {
  const previous = previousRelease(history);
  return history.slice(0, previous === undefined ? KEEP_WITHOUT_PREVIOUS : history.indexOf(previous) + 1);
}

/** A snapshot's release again, as a rollback makes it. */
export function desiredOf(snapshot: Snapshot): DesiredRelease {
  return {
    name: snapshot.name,
    namespace: snapshot.namespace,
    chartName: snapshot.chartName,
    chartVersion: snapshot.chartVersion,
    appVersion: snapshot.appVersion ?? '',
    configDigest: snapshot.configDigest,
    ...(snapshot.ociDigest === undefined ? {} : { ociDigest: snapshot.ociDigest }),
  };
}
