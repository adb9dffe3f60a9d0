import { Type, type Static } from 'typebox';
import type { JobSubject } from '../../delivery/pull/read-job.ts';
import { ResourceRef } from '../../protocol/condition.ts';
import { JobResult, JobStatus, type Job } from '../../protocol/job.ts';

/**
 * How far a job has come:
 *
 *     received ── ack answered ──► acknowledged ── in the cluster ──► applied ── ready, failed, gone ──► finished
 *                                       │                                                                   ▲
 *                                       └── refused, expired, overtaken ────────────────────────────────────┘
 *
 * It leaves the journal once its result is answered.
 */
export const JOB_STAGES = ['received', 'acknowledged', 'applied', 'finished'] as const;
export type JobStage = (typeof JOB_STAGES)[number];

/** What the journal holds of a job beside the job as it came. */
export const JobProgress = Type.Object({
  stage: Type.Unsafe<JobStage>({ type: 'string', enum: [...JOB_STAGES] }),
  /** Not answered yet, oldest first. */
  statuses: Type.Array(JobStatus),
  result: Type.Optional(JobResult),
  /** The object that was applied, or asked to go. */
  applied: Type.Optional(ResourceRef),
});
export type JobProgress = Static<typeof JobProgress>;

/** A job from its journal entry to the answer to its result. */
export interface OpenJob {
  /** As it was received: what came encrypted stays encrypted. */
  readonly job: Job;
  /** The cluster record that it is of; with another one nothing may be said of it. */
  readonly clusterId: string;
  /** Its place in the journal. */
  readonly slot: number;
  /** It came with a poll of this process, not from the journal. */
  readonly isNew: boolean;
  stage: JobStage;
  statuses: JobStatus[];
  result: JobResult | undefined;
  applied: ResourceRef | undefined;
  /** Known once the job was read in this process. */
  subject: JobSubject | undefined;
  isRemoval: boolean;
  /** Why it is not in the cluster yet, after an attempt. */
  waiting: { readonly reason: string; readonly message: string } | undefined;
  /** What the last status said, so that it is not said twice. */
  lastSaid: string;
}

const UNREAD = { subject: undefined, isRemoval: false, waiting: undefined, lastSaid: '' } as const;

export function newJob(job: Job, clusterId: string, slot: number): OpenJob {
  return {
    job,
    clusterId,
    slot,
    isNew: true,
    stage: 'received',
    statuses: [],
    result: undefined,
    applied: undefined,
    ...UNREAD,
  };
}

export function restoredJob(job: Job, clusterId: string, slot: number, progress: JobProgress): OpenJob {
  const { stage, statuses, result, applied } = progress;
  return { job, clusterId, slot, isNew: false, stage, statuses, result, applied, ...UNREAD };
}

export function progressOf({ stage, statuses, result, applied }: OpenJob): JobProgress {
  return {
    stage,
    statuses,
    ...(result === undefined ? {} : { result }),
    ...(applied === undefined ? {} : { applied }),
  };
}
