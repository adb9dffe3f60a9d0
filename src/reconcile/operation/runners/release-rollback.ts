import type { Static } from 'typebox';
import type { ReleaseRollbackParameters } from '../../../operation-templates/built-in/release.ts';
import { chartIsNotAllowed } from '../../../policy/chart-is-not-allowed.ts';
import { refusalText } from '../../../policy/policy-violation.ts';
import type { ApplicationInstance } from '../../../resources/application-instance.ts';
import { isTrue, findCondition } from '../../../resources/conditions.ts';
import { refOf } from '../../../resources/kube-object.ts';
import { ROLLBACK_ANNOTATION } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import { isChartVersion, withoutBuild } from '../../application-instance/chart-version.ts';
import { releaseVerdict } from '../../application-instance/release-verdict.ts';
import {
  asPinned,
  fromOf,
  MAX_PIN_BYTES,
  readPin,
  sealPin,
  type PinReading,
  type RollbackPin,
} from '../../application-instance/rollback-pin.ts';
import type { Secret } from '../../../runtime/secret.ts';
import type { FailedTry, OperationRun, RunnerDeps, RunState, TemplateRunner } from '../template-runner.ts';
import { failedTry, finalFailure } from './refused-call.ts';
import {
  applicationOf,
  INSTANCE,
  isFailure,
  readApplication,
  releaseIsSuspended,
  type Application,
  writesAreStopped,
} from './release.ts';
import { targetIsElsewhere } from './target-is-elsewhere.ts';
import { choiceIsNotApproved, targetIsNotApproved } from './target-is-not-approved.ts';
import { OPERATION_FIELD_MANAGER } from './workload-mark.ts';

/**
 * Takes an application back to an earlier chart version, until its next intent. What is pinned stands in an annotation of
 * the instance, by which its own reconcile releases it; its spec stays what the control plane delivered and signed.
 */
export const releaseRollbackRunner: TemplateRunner = {
  name: 'release-rollback',
  violations: (run) => targetIsElsewhere(run, INSTANCE.apiVersion),
  async start(deps, run, signal) {
    try {
      return await pin(deps, run, signal);
    } catch (error) {
      return failedTry(error, applicationOf(run).namespace);
    }
  },
  async observe(deps, run, signal) {
    try {
      return await progressOf(deps, run, signal);
    } catch (error) {
      return failedTry(error, applicationOf(run).namespace);
    }
  },
};

async function pin(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<FailedTry | undefined> {
  const found = await readApplication(deps, run, Reason.ReleaseNotRolledBack, signal);
  if (isFailure(found)) return found;
  const { instance } = found;
  const ring = keysOf(deps);
  const before = readPin(instance, run.policy.clusterId, ring);
  if (whose(before, run) !== 'earlier') return undefined;
  const held =
    writesAreStopped(found, run) ??
    releaseIsSuspended(found, Reason.ReleaseNotRolledBack) ??
    (await targetIsNotApproved(deps, found, run, signal));
  if (held !== undefined) return held;
  const planned = plan(found, run, before);
  if ('state' in planned) return planned;
  const text = sealPin(planned, instance, run.policy.clusterId, ring[0]);
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > MAX_PIN_BYTES) {
    return failed(
      `the values are too large: ${bytes} bytes with what goes with them, at most ${MAX_PIN_BYTES} are kept`,
    );
  }
  const { resourceVersion } = instance.metadata;
  // Of just what was looked at: an intent that came meanwhile is not to be taken back.
  const patch = { metadata: { resourceVersion, annotations: { [ROLLBACK_ANNOTATION]: text } } };
  await deps.api.mergePatch(refOf(instance), patch, { fieldManager: OPERATION_FIELD_MANAGER }, signal);
  return undefined;
}

/** They are read when the operator starts; the pass is made again. */
function keysOf({ keyRing }: RunnerDeps): readonly [Secret, ...Secret[]] {
  const [current, ...retired] = keyRing?.() ?? [];
  if (current === undefined) throw new Error("the cluster's keys are not read yet");
  return [current, ...retired];
}

/** What is to be pinned, or why nothing can be. */
function plan(found: Application, run: OperationRun, before: PinReading): Omit<RollbackPin, 'mac'> | FailedTry {
  const { instance } = found;
  const { chartVersion, values } = run.parameters as Static<typeof ReleaseRollbackParameters>;
  const earlier = earlierVersions(found);
  const running = before.state === 'holds' ? before.pin.chartVersion : undefined;
  const version = chartVersion ?? earlier.find((one) => running === undefined || !isChartVersion(one, running));
  if (version === undefined) {
    return failed(
      `no earlier version of ${nameOf(instance)} is known that ran: Flux keeps the releases back to the one before the present; name one in the parameter chartVersion`,
    );
  }
  const { uid = '', name } = run.operation.metadata;
  const pinned = {
    from: fromOf(instance),
    operation: { name, uid, at: run.startedAt.toISOString() },
    chartVersion: version,
    ...(values === undefined ? {} : { values }),
  };
  const violations = chartIsNotAllowed(asPinned(instance, pinned), { policy: run.policy });
  const [first] = violations;
  if (first !== undefined) return finalFailure(first.reason, refusalText(violations));
  const isKnown = earlier.includes(version) && values === undefined;
  return (isKnown ? undefined : choiceIsNotApproved(found, run)) ?? pinned;
}

/** The versions of this chart that ran before that of the spec, the newest first. */
function earlierVersions({ instance, release }: Application): readonly string[] {
  const { name, version } = instance.spec.chart;
  const ran = (release.status?.history ?? []).filter(
    ({ chartName, chartVersion, status }) =>
      chartName === name &&
      !isChartVersion(chartVersion, version) &&
      (status === 'deployed' || status === 'superseded'),
  );
  // Flux adds the digest to the version of a chart out of an OCI registry.
  const isOci = instance.spec.chart.type === 'oci';
  return [...new Set(ran.map(({ chartVersion }) => (isOci ? withoutBuild(chartVersion) : chartVersion)))];
}

async function progressOf(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  const found = await readApplication(deps, run, Reason.ReleaseNotRolledBack, signal);
  if (isFailure(found)) return found;
  const { instance, release, source } = found;
  const reading = readPin(instance, run.policy.clusterId, keysOf(deps));
  const named = nameOf(instance);
  switch (whose(reading, run)) {
    case 'earlier':
      return { state: 'absent' };
    case 'later':
      return failed(`a later operation took ${named} elsewhere`);
    case 'own':
  }
  if (reading.state === 'over') return failed(`a new intent for ${named} came, and what it says is released`);
  if (reading.state !== 'holds') return { state: 'absent' };
  const { pin: pinned } = reading;
  const outputRef = refOf(instance);
  const isApplied = release.metadata.annotations?.[ROLLBACK_ANNOTATION] === pinned.operation.uid;
  if (!isApplied || source === undefined) {
    const stalled = isTrue(instance.status?.conditions, 'Stalled');
    const why = stalled ? `: ${findCondition(instance.status?.conditions, 'Stalled')?.message ?? ''}` : '';
    return {
      state: 'running',
      message: `waits until ${named} is released with ${pinned.chartVersion}${why}`,
      outputRef,
    };
  }
  const { ready, reconciling, degraded } = releaseVerdict(asPinned(instance, pinned), source, release);
  if (ready.status === 'True') {
    const message = `${ready.message}, until the next intent for ${named}`;
    return { state: 'succeeded', reason: Reason.ReleaseRolledBack, message, outputRef };
  }
  if (degraded?.status === 'True' && reconciling.status !== 'True') return { ...failed(ready.message), outputRef };
  const suspended = releaseIsSuspended(found, Reason.ReleaseNotRolledBack);
  return suspended ?? { state: 'running', message: ready.message, outputRef };
}

/** The pin's operation, beside this one: of two that run at once the one that began later has its way. */
function whose(reading: PinReading, { operation, startedAt }: OperationRun): 'earlier' | 'own' | 'later' {
  if (!('pin' in reading)) return 'earlier';
  const { uid, at } = reading.pin.operation;
  if (uid === operation.metadata.uid) return 'own';
  return reading.state === 'holds' && at > startedAt.toISOString() ? 'later' : 'earlier';
}

function failed(message: string): FailedTry {
  return finalFailure(Reason.ReleaseNotRolledBack, message);
}

function nameOf({ metadata }: ApplicationInstance): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
