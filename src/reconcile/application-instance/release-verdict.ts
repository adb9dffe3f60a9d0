import type { Condition } from '../../protocol/condition.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { findCondition } from '../../resources/conditions.ts';
import { FluxReleaseReason, type HelmRelease } from '../../resources/flux-helm-release.ts';
import type { HelmRepository } from '../../resources/flux-helm-repository.ts';
import type { OciRepository } from '../../resources/flux-oci-repository.ts';
import { Reason } from '../../resources/reasons.ts';
import { isChartVersion } from './chart-version.ts';
import { driftVerdict } from './drift-verdict.ts';
import { failureVerdict, tryingAgain } from './failure-verdict.ts';
import { releaseOf, underWay } from './release-history.ts';
import { degraded, held, progressing, ready, type Verdict } from './verdict.ts';

/** Said by Flux of a HelmChart that it has only just made: it passes. */
const NOT_LOOKED_AT_YET = /latest generation of object has not been reconciled/;

/** Reasons with which a HelmRelease says that its chart is not there. */
const CHART_MISSING: readonly string[] = ['SourceNotReady', FluxReleaseReason.ArtifactFailed, 'HelmChartNotReady'];

/**
 * What Flux' objects say about the desired state. They are believed only where they are about it:
 *
 *     source generation observed ──► release generation observed ──► history's newest chart is the wanted one
 *
 * Until then the release is under way, whatever Ready says: an upgrade of an OCI chart changes the source alone, and the
 * release stays Ready, of the version before, until Flux has fetched the new one.
 *
 * @param waitsFor what of `dependsOn` is missing, in words
 */
export function releaseVerdict(
  instance: ApplicationInstance,
  source: OciRepository | HelmRepository,
  release: HelmRelease,
  waitsFor?: string,
): Verdict {
  const { chart } = instance.spec;
  const seen = releaseOf(release);
  const onItsWay = (): Verdict => {
    const { reason, message } = underWay(release, chart);
    const verdict = progressing(reason, message, seen);
    const failed = tryingAgain(instance, release);
    return failed === undefined ? verdict : { ...verdict, ready: failed };
  };
  if (instance.spec.suspend === true)
    return held(Reason.Suspended, 'spec.suspend is true; what runs keeps running', seen);
  if (release.spec.suspend === true) {
    return held(Reason.HelmReleaseSuspended, suspendedByHand(release), seen);
  }

  const fetched = aboutNow(source, findCondition(source.status?.conditions, 'Ready'));
  if (fetched === undefined) return onItsWay();
  if (fetched.status === 'False') return sourceFailed(fetched.message, source.kind, seen);
  if (fetched.status !== 'True') return onItsWay();

  const state = aboutNow(release, findCondition(release.status?.conditions, 'Ready'));
  if (state === undefined) return onItsWay();
  const running = runningVerdict(release, chart, seen);
  const drift = running && driftVerdict(release, running);
  if (drift !== undefined) return drift;
  if (state.status === 'True') return running ?? onItsWay();
  if (state.status !== 'False') return onItsWay();
  return notReady(instance, release, state, waitsFor) ?? onItsWay();
}

/** What is asked for was released last, whatever became of it since. */
function runningVerdict(
  release: HelmRelease,
  chart: ApplicationInstance['spec']['chart'],
  seen: Verdict['release'],
): Verdict | undefined {
  const latest = release.status?.history?.[0];
  if (latest === undefined || !isChartVersion(latest.chartVersion, chart.version)) return undefined;
  const reason = latest.version > 1 ? Reason.HelmReleaseUpgraded : Reason.HelmReleaseReady;
  const where = `${latest.namespace}/${latest.name}`;
  return ready(reason, `${chart.name} ${chart.version} runs as ${where}, Helm revision ${latest.version}`, seen);
}

/** The manager of the field is who did it; nothing of ours sets it unless the instance says so. */
function suspendedByHand({ metadata }: HelmRelease): string {
  const manager = metadata.managedFields?.find(({ fieldsV1 }) => {
    const spec = fieldsV1?.['f:spec'];
    return typeof spec === 'object' && spec !== null && 'f:suspend' in spec;
  })?.manager;
  const by = manager === undefined ? '' : ` by ${manager}`;
  const resume = `flux resume helmrelease ${metadata.name} -n ${metadata.namespace ?? ''}`;
  return `HelmRelease ${metadata.name} is suspended${by}, and not by spec.suspend; resume it with: ${resume}`;
}

/** The condition, where it is about the object's present generation. */
function aboutNow(object: HelmRelease | OciRepository | HelmRepository, condition: Condition | undefined) {
  const generation = object.metadata.generation;
  // While it retries Flux leaves status.observedGeneration behind, but the condition carries its own.
  const observed = [condition?.observedGeneration, object.status?.observedGeneration];
  return generation === undefined || observed.includes(generation) ? condition : undefined;
}

function sourceFailed(message: string | undefined, kind: string, release: Verdict['release']): Verdict {
  const text = `the chart cannot be fetched: ${message ?? `${kind} is not ready`}`;
  return degraded(Reason.SourceUnavailable, text, release === undefined ? {} : { release });
}

function notReady(
  instance: ApplicationInstance,
  release: HelmRelease,
  state: Condition,
  waitsFor: string | undefined,
): Verdict | undefined {
  const seen = releaseOf(release);
  const message = state.message ?? state.reason ?? 'the release failed';
  const { reason: wayOn } = underWay(release, instance.spec.chart);
  if (state.reason === FluxReleaseReason.DependencyNotReady) {
    // Flux names the first one, and looks again after a while: what is seen of them here may be newer.
    const waits = waitsFor ?? message;
    return {
      ...progressing(wayOn, waits, seen),
      ready: { status: 'False', reason: Reason.DependencyNotReady, message: waits },
    };
  }
  if (CHART_MISSING.includes(state.reason ?? '')) {
    return NOT_LOOKED_AT_YET.test(message) ? undefined : sourceFailed(message, 'HelmChart', seen);
  }
  if (state.reason === FluxReleaseReason.Progressing) return undefined;
  // A failure of the version before is not news about this one.
  const attempted = release.status?.lastAttemptedRevision;
  if (attempted !== undefined && !isChartVersion(attempted, instance.spec.chart.version)) return undefined;

  return failureVerdict(instance, release, state);
}
