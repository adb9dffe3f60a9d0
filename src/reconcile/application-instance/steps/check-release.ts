import { Reason } from '../../../resources/reasons.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import type { ReleaseHolder } from '../release-claims.ts';
import { releaseOf } from '../release-history.ts';
import { stalled } from '../verdict.ts';

/** The watch tells when an instance gives a release up; of a HelmRelease that was left over nobody tells. */
const LOOK_AGAIN_MS = 15_000;

/** Two HelmReleases for one Helm release would undo each other's work in turns, and the end of one ends it for both. */
export async function checkRelease(pass: InstancePass): Promise<StepResult> {
  const { instance, watches, release } = pass;
  const holder = watches.claims.take(instance, () => watches.flux.knownReleases());
  if (holder === undefined) return NEXT;
  const verdict = stalled(Reason.ReleaseNotOwned, messageOf(holder));
  const seen = releaseOf(release);
  return {
    kind: 'done',
    verdict: seen === undefined ? verdict : { ...verdict, release: seen },
    requeueAfterMs: LOOK_AGAIN_MS,
  };
}

function messageOf({ instance, helmRelease, release }: ReleaseHolder): string {
  const [namespace = '', name = ''] = release.split('/');
  const what = `Helm release ${name} in namespace ${namespace}`;
  const orElse = 'make this resource anew with another spec.releaseName';
  if (instance !== undefined) {
    return `${what} is that of ApplicationInstance ${instance}; nothing is made for it twice: uninstall one of the two, or ${orElse}`;
  }
  const [where = '', left = ''] = helmRelease.split('/');
  return (
    `${what} is that of HelmRelease ${helmRelease}, which stayed when its ApplicationInstance was deleted; uninstall it ` +
    `with: kubectl delete helmrelease ${left} -n ${where}, or make an ApplicationInstance ${left} there again to take it up, or ${orElse}`
  );
}
