import type { ApplicationInstanceStatus } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { Reason } from '../../resources/reasons.ts';
import { withoutBuild } from './chart-version.ts';

/** `status.release` of the instance: the newest entry of Flux' history. */
export function releaseOf(release: HelmRelease | undefined): ApplicationInstanceStatus['release'] {
  const latest = release?.status?.history?.[0];
  if (latest === undefined) return undefined;
  return {
    chartVersion: cut(withoutBuild(latest.chartVersion), 128),
    ...(latest.appVersion === undefined ? {} : { appVersion: cut(latest.appVersion, 256) }),
    revision: latest.version,
  };
}

/** Charts say what they like, the status holds so much. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** Whether the application has ever run: what comes next is an upgrade then, and an installation otherwise. */
export function hasRun(release: HelmRelease | undefined): boolean {
  return (release?.status?.history ?? []).some(({ status }) => status === 'deployed' || status === 'superseded');
}

/** Installing or upgrading, with what is wanted in words. */
export function underWay(release: HelmRelease | undefined, chart: { readonly name: string; readonly version: string }) {
  const wanted = `${chart.name} ${chart.version}`;
  if (!hasRun(release)) return { reason: Reason.HelmReleaseInstalling, message: `installing ${wanted}` };
  const last = withoutBuild(release?.status?.history?.[0]?.chartVersion ?? '');
  const message =
    last === withoutBuild(chart.version) ? `upgrading ${wanted} to new settings` : `upgrading ${last} to ${wanted}`;
  return { reason: Reason.HelmReleaseUpgrading, message };
}
