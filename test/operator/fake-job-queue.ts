import type { ServerResponse } from 'node:http';
import { AppError } from '../../src/protocol/app-error.ts';
import type { Job, JobResult, JobStatus } from '../../src/protocol/job.ts';

/** A job at the control plane, with all that was said of it. */
export interface QueuedJob {
  readonly job: Job;
  readonly acks: number[];
  readonly statuses: JobStatus[];
  readonly results: JobResult[];
}

type Answer = (response: ServerResponse, status: number, body?: unknown) => void;

/** The queue of one cluster: offers what is not acknowledged, holds polls, and takes acks, statuses and one result a job. */
export class FakeJobQueue {
  readonly jobs = new Map<string, QueuedJob>();
  /** `ack j1`, `status j1 Reconciling`, `result j1 succeeded`: in the order in which they came. */
  readonly said: string[] = [];
  /** Waits that polls asked for, in seconds. */
  readonly waits: number[] = [];
  readonly #answer: Answer;
  readonly #held = new Set<() => void>();

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  put(...jobs: readonly Job[]): void {
    for (const job of jobs) this.jobs.set(job.id, { job, acks: [], statuses: [], results: [] });
    this.wake();
  }

  /** Polls that are held are answered, with what there is. */
  wake(): void {
    for (const held of this.#held) held();
  }

  get(id: string): QueuedJob {
    const queued = this.jobs.get(id);
    if (queued === undefined) throw new AppError('job_not_found', `there is no job ${id}`);
    return queued;
  }

  /** Outcomes of a job's results. */
  outcomes(id: string): string[] {
    return this.get(id).results.map(({ outcome, error }) => (error === undefined ? outcome : `${outcome}: ${error}`));
  }

  poll(path: string, response: ServerResponse): void {
    const wait = Number(new URL(path, 'http://localhost').searchParams.get('wait') ?? 30);
    this.waits.push(wait);
    const offered = (): readonly Job[] =>
      [...this.jobs.values()].flatMap(({ job, acks, results }) => (acks.length + results.length > 0 ? [] : [job]));
    if (offered().length > 0 || wait === 0) return this.#answer(response, 200, { jobs: offered() });
    const finish = (): void => {
      clearTimeout(timer);
      this.#held.delete(finish);
      this.#answer(response, 200, { jobs: offered() });
    };
    const timer = setTimeout(finish, wait * 1000);
    this.#held.add(finish);
    response.once('close', () => {
      clearTimeout(timer);
      this.#held.delete(finish);
    });
  }

  write(path: string, body: unknown, response: ServerResponse): void {
    this.record(path, body);
    this.#answer(response, 204);
  }

  /** Takes what is said, without an answer. */
  record(path: string, body: unknown): void {
    const [, id = '', what = ''] = /\/jobs\/([^/]+)\/(\w+)$/.exec(path) ?? [];
    const queued = this.get(decodeURIComponent(id));
    const isClosed = queued.results.length > 0;
    if (what === 'ack') {
      this.said.push(`ack ${id}`);
      if (isClosed) throw new AppError('job_closed', `job ${id} is closed`);
      queued.acks.push(Date.now());
    } else if (what === 'status') {
      const status = body as JobStatus;
      this.said.push(`status ${id} ${status.phase}`);
      if (isClosed) throw new AppError('job_closed', `job ${id} is closed`);
      queued.statuses.push(status);
    } else {
      const result = body as JobResult;
      this.said.push(`result ${id} ${result.outcome}`);
      if (isClosed) throw new AppError('result_exists', `job ${id} has its result`);
      queued.results.push(result);
    }
  }
}
