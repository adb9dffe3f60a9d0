import { asSeen, patchAsSeen } from '../../../kube/patch-as-seen.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { FailedTry, OperationRun, RunnerDeps, RunState, TemplateRunner } from '../template-runner.ts';
import { finalFailure, orRefused } from './refused-call.ts';
import { targetIsElsewhere } from './target-is-elsewhere.ts';
import {
  annotate,
  LAST_SCALE_ANNOTATION,
  markOf,
  markOn,
  noteOn,
  OPERATION_FIELD_MANAGER,
  ownersOf,
} from './workload-mark.ts';
import { scaleProgress } from './workload-status.ts';
import { named, targetIsMissing, WORKLOAD_API_VERSION, workloadRef, type Workload } from './workload-target.ts';

const REPLICAS = ['spec', 'replicas'];

/** Sets the number of replicas, and waits until so many are ready. */
export const scaleRunner: TemplateRunner = {
  name: 'scale',
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
  const patched = await patchAsSeen(
    deps.api,
    live,
    (seen) =>
      markOn(seen, LAST_SCALE_ANNOTATION, run) === 'before'
        ? [
            asSeen(seen),
            { op: 'add', path: '/spec/replicas', value: wantedReplicas(run) },
            // The patch takes the field from who owned it, and with it the trace of who that was.
            ...annotate(
              '/metadata',
              seen.metadata,
              LAST_SCALE_ANNOTATION,
              [markOf(run), ...ownersOf(seen, REPLICAS)].join(' '),
            ),
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
  const mark = markOn(live, LAST_SCALE_ANNOTATION, run);
  if (mark === 'before') return { state: 'absent' };
  const wanted = wantedReplicas(run);
  const replicas = live.spec?.replicas ?? 1;
  if (mark === 'later' && replicas !== wanted) {
    const message = `an operation that began later has scaled ${named(ref)} to ${replicas}`;
    return finalFailure(Reason.ChangeUndone, message);
  }
  if (replicas !== wanted) {
    const owners = ownersOf(live, REPLICAS).map((owner) => `"${owner}"`);
    const who = owners.length === 0 ? 'somebody' : `field manager ${owners.join(', ')}`;
    const message =
      `${who} set ${named(ref)} to ${replicas} after this operation had set ${wanted}; ` +
      'change it where that is decided: a HorizontalPodAutoscaler, the values of a release';
    return finalFailure(Reason.ChangeUndone, message);
  }
  const progress = scaleProgress(live, wanted);
  const message = `${named(ref)}: ${progress.message}`;
  if (progress.state !== 'done') return { state: 'running', message };
  return { state: 'succeeded', reason: Reason.WorkloadScaled, message: message + mayBeSetBack(live) };
}

function wantedReplicas({ parameters }: OperationRun): number {
  return Number(parameters['replicas']);
}

function mayBeSetBack(live: Workload): string {
  const owners = noteOn(live, LAST_SCALE_ANNOTATION).split(' ').filter(Boolean);
  if (owners.length === 0) return '';
  return `; the number was set by field manager "${owners.join('", "')}" before, which may set it again`;
}
