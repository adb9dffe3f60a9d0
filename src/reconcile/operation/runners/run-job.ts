import { KubeError } from '../../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../../kube/kube-fault.ts';
import { findCondition } from '../../../resources/conditions.ts';
import type { Condition } from '../../../protocol/condition.ts';
import type { KubeObject, ObjectRef } from '../../../resources/kube-object.ts';
import { Reason } from '../../../resources/reasons.ts';
import type {
  FailedTry,
  LeftBehind,
  OperationRun,
  OutputRef,
  RunnerDeps,
  RunState,
  TemplateRunner,
} from '../template-runner.ts';
import { inlineJob, JOB, jobAccount, jobFromCronJob, jobName, type CronJob } from './job-object.ts';
import { jobOutput, newestPod, waitingReason } from './job-output.ts';
import { asMadeHere, isMadeHere } from './made-here.ts';
import { finalFailure, orRefused } from './refused-call.ts';
import { OPERATION_FIELD_MANAGER } from './workload-mark.ts';
import { targetIsMissing } from './workload-target.ts';

/** batch/v1 has it from 1.21 on, and batch/v1beta1 until 1.24. */
const CRON_JOB_VERSIONS = ['batch/v1', 'batch/v1beta1'] as const;

interface Job extends KubeObject {
  readonly status?: {
    readonly active?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** Runs a Job, of a CronJob or of what the parameters say, and waits for its end. */
export const runJobRunner: TemplateRunner = {
  name: 'run-job',
  start: async (deps, run, signal) =>
    await orRefused(run.operation.metadata.namespace ?? '', async () => await begin(deps, run, signal)),
  observe: async (deps, run, signal) =>
    await orRefused(run.operation.metadata.namespace ?? '', async () => await look(deps, run, signal)),
  stop: end,
};

async function begin(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<FailedTry | undefined> {
  const live = await deps.api.get<Job>(refOfJob(run), signal);
  if (live !== undefined) return isMadeHere(live, run, deps) ? undefined : nameIsTaken(live);
  if (wasThere(run)) return jobIsGone(run);
  const { cronJob } = run.parameters as { readonly cronJob?: string };
  let job: KubeObject;
  if (cronJob === undefined) job = inlineJob(run);
  else {
    const found = await findCronJob(deps, { namespace: run.operation.metadata.namespace ?? '', name: cronJob }, signal);
    if (!('metadata' in found)) return found;
    job = jobFromCronJob(run, found);
  }
  try {
    await deps.api.create(asMadeHere(job, run, deps), OPERATION_FIELD_MANAGER, signal);
  } catch (error) {
    // Made by this operation before a crash, or meanwhile by another: the next look tells which.
    if (!(error instanceof KubeError) || error.reason !== 'AlreadyExists') throw error;
  }
  return undefined;
}

async function look(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  const job = await deps.api.get<Job>(refOfJob(run), signal);
  if (job === undefined) return wasThere(run) ? jobIsGone(run) : { state: 'absent' };
  if (!isMadeHere(job, run, deps)) {
    // That of an earlier operation of this name goes with it.
    return job.metadata.deletionTimestamp === undefined ? nameIsTaken(job) : { state: 'absent' };
  }
  if (job.metadata.deletionTimestamp !== undefined) return jobIsGone(run);
  const outputRef = refOfOutput(run);
  const { name } = job.metadata;
  const pod = await newestPod(deps, job, signal);
  const conditions = job.status?.conditions;
  const ended = (['Complete', 'Failed'] as const).find((type) => findCondition(conditions, type)?.status === 'True');
  if (ended === undefined) {
    const waits = pod === undefined ? undefined : waitingReason(pod);
    const account = jobAccount(run);
    const message =
      pod === undefined && (job.status?.active ?? 0) === 0
        ? `Job ${name} has no pod yet; it needs the service account ${account} in its namespace`
        : `Job ${name} runs${waits === undefined ? '' : `; its pod waits: ${waits}`}`;
    return { state: 'running', message, outputRef };
  }
  const output = pod === undefined ? undefined : await jobOutput(deps, pod, signal);
  const rest = { outputRef, ...(output === undefined ? {} : { output }) };
  if (ended === 'Complete') {
    return { state: 'succeeded', reason: Reason.JobCompleted, message: `Job ${name} came to its end`, ...rest };
  }
  const { reason = '', message = '' } = findCondition(conditions, 'Failed') ?? {};
  const why = [reason, message].filter((text) => text !== '').join(': ');
  const said = `Job ${name} failed${why === '' ? '' : `: ${why}`}`;
  return { state: 'failed', reason: Reason.JobFailed, message: said, isFinal: false, ...rest };
}

/** Deletes what still runs, with its pods, and keeps what they wrote; what has ended stays to be looked at. */
async function end(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<LeftBehind | undefined> {
  const job = await deps.api.get<Job>(refOfJob(run), signal);
  if (job === undefined || !isMadeHere(job, run, deps)) return undefined;
  const conditions = job.status?.conditions;
  const isOver = (['Complete', 'Failed'] as const).some((type) => findCondition(conditions, type)?.status === 'True');
  const { uid } = job.metadata;
  if (isOver || uid === undefined) return undefined;
  const pod = await newestPod(deps, job, signal);
  const output = pod === undefined ? undefined : await jobOutput(deps, pod, signal);
  await deps.api.delete(refOfJob(run), { uid, propagationPolicy: 'Background' }, signal);
  return output === undefined ? undefined : { output };
}

async function findCronJob(
  deps: RunnerDeps,
  at: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<CronJob | FailedTry> {
  for (const apiVersion of CRON_JOB_VERSIONS) {
    const ref = { apiVersion, kind: 'CronJob', ...at };
    try {
      return (await deps.api.get<CronJob>(ref, signal)) ?? (await targetIsMissing(deps, ref, signal));
    } catch (error) {
      if (!(error instanceof KubeError) || error.reason !== KIND_NOT_FOUND) throw error;
    }
  }
  return finalFailure(
    Reason.TargetNotFound,
    `this cluster serves no CronJob, neither as ${CRON_JOB_VERSIONS.join(' nor as ')}`,
  );
}

function refOfJob(run: OperationRun): ObjectRef {
  return { ...JOB, namespace: run.operation.metadata.namespace ?? '', name: jobName(run) };
}

function refOfOutput(run: OperationRun): OutputRef {
  return { ...JOB, namespace: run.operation.metadata.namespace ?? '', name: jobName(run) };
}

/** The status names the Job once it was seen: that it is not there now does not mean that it is still to be made. */
function wasThere(run: OperationRun): boolean {
  const seen = run.operation.status?.outputRef;
  return seen?.kind === JOB.kind && seen.name === jobName(run);
}

function nameIsTaken({ metadata }: KubeObject): FailedTry {
  const { name, namespace = '' } = metadata;
  const message = `Job ${name} is there already and is not this operation's; delete it (kubectl -n ${namespace} delete job ${name}) or give the operation another name`;
  return finalFailure(Reason.TargetNotSuited, message);
}

function jobIsGone(run: OperationRun): FailedTry {
  const message = `Job ${jobName(run)} was deleted before it came to its end; whether it had its effect is not known`;
  return { state: 'failed', reason: Reason.ChangeUndone, message, isFinal: false };
}
