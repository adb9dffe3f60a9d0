import { asSeen, patchAsSeen } from '../../../kube/patch-as-seen.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { FailedTry, OperationRun, RunnerDeps, RunState, TemplateRunner } from '../template-runner.ts';
import { finalFailure, orRefused } from './refused-call.ts';
import { targetIsElsewhere } from './target-is-elsewhere.ts';
import {
  annotate,
  LAST_RESTART_ANNOTATION,
  markOf,
  markOn,
  OPERATION_FIELD_MANAGER,
  ownersOf,
} from './workload-mark.ts';
import { rolloutProgress } from './workload-status.ts';
import { named, targetIsMissing, WORKLOAD_API_VERSION, workloadRef, type Workload } from './workload-target.ts';

/** The one that `kubectl rollout restart` sets, so that either sees the other's. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** Has the pods of a workload replaced by changing its pod template, and waits until all are. */
export const rolloutRestartRunner: TemplateRunner = {
  name: 'rollout-restart',
  violations: (run) => targetIsElsewhere(run, WORKLOAD_API_VERSION),
  start: async (deps, run, signal) =>
    await orRefused(run.operation.metadata.namespace ?? '', async () => await begin(deps, run, signal)),
  observe: async (deps, run, signal) =>
    await orRefused(run.operation.metadata.namespace ?? '', async () => await look(deps, run, signal)),
};

async function begin(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<FailedTry | undefined> {
  const ref = workloadRef(run);
  const live = await deps.api.get<Workload>(ref, signal);
  if (live === undefined) return await targetIsMissing(deps, ref, signal);
  const unfit = cannotRestart(live);
  if (unfit !== undefined) return finalFailure(Reason.TargetNotSuited, unfit);
  const patched = await patchAsSeen(
    deps.api,
    live,
    (seen: Workload) =>
      markOn(seen, LAST_RESTART_ANNOTATION, run) === 'before'
        ? [
            asSeen(seen),
            ...annotate('/spec/template/metadata', templateMetadata(seen), RESTARTED_AT, run.startedAt.toISOString()),
            ...annotate('/metadata', seen.metadata, LAST_RESTART_ANNOTATION, markOf(run)),
          ]
        : undefined,
    { fieldManager: OPERATION_FIELD_MANAGER },
    signal,
  );
  return patched === undefined ? await targetIsMissing(deps, ref, signal) : undefined;
}

async function look(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  const ref = workloadRef(run);
  const live = await deps.api.get<Workload>(ref, signal);
  if (live === undefined) return await targetIsMissing(deps, ref, signal);
  // One that began later has restarted the same pods once more.
  if (markOn(live, LAST_RESTART_ANNOTATION, run) === 'before') return { state: 'absent' };
  const restartedAt = templateMetadata(live)?.annotations?.[RESTARTED_AT];
  if (restartedAt === undefined || Date.parse(restartedAt) < secondOf(run.startedAt)) {
    const owners = ownersOf(live, ['spec', 'template']).join(', ');
    const message = `somebody took the restart of ${named(ref)} out of its pod template again; its field managers: ${owners}`;
    return finalFailure(Reason.ChangeUndone, message);
  }
  const progress = rolloutProgress(live);
  const message = `${named(ref)}: ${progress.message}`;
  if (progress.state === 'running') return { state: 'running', message };
  if (progress.state === 'done') return { state: 'succeeded', reason: Reason.WorkloadRestarted, message };
  return { state: 'failed', reason: Reason.RolloutFailed, message, isFinal: true };
}

/** kubectl writes whole seconds. */
function secondOf(time: Date): number {
  return Math.floor(time.getTime() / 1000) * 1000;
}

function templateMetadata({ spec }: Workload) {
  return spec?.template?.metadata;
}

/** What kubectl refuses too, or what would wait for ever. */
function cannotRestart(live: Workload): string | undefined {
  const { kind, spec, metadata } = live;
  if (kind === 'Deployment' && spec?.paused === true) {
    const { namespace, name } = metadata;
    return `Deployment ${name} is paused, so that no pod would be replaced; first: kubectl -n ${namespace} rollout resume deployment ${name}`;
  }
  if (spec?.updateStrategy?.type === 'OnDelete') {
    return `${kind} ${metadata.name} has the update strategy OnDelete: its pods are replaced only when somebody deletes them; set RollingUpdate to have it restarted`;
  }
  return undefined;
}
