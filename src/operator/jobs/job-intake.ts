import { Type } from 'typebox';
import { AppError } from '../../protocol/app-error.ts';
import { Job } from '../../protocol/job.ts';
import { compileParser } from '../../protocol/parse.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { JobDesk } from './job-desk.ts';
import { JobNotJournaled, type JobJournal } from './job-journal.ts';
import type { JobReports } from './job-reports.ts';
import { newJob, type OpenJob } from './open-job.ts';

export interface JobIntakeDeps {
  readonly journal: JobJournal;
  readonly desk: JobDesk;
  readonly reports: Pick<JobReports, 'reject' | 'rejects' | 'room' | 'toAck' | 'wasRefused'>;
  /** Of the record that is polled for. */
  readonly clusterId: () => string;
  readonly logger: Logger;
}

const AT_ONCE = 8;

const parseJob = compileParser(Job);
const parseNamed = compileParser(Type.Object({ id: Job.properties.id }));

/** Takes what a poll brought: into the journal, and only then to be acknowledged. A job that is known is told again so. */
export class JobIntake {
  readonly #deps: JobIntakeDeps;
  readonly #taking = new Set<string>();

  constructor(deps: JobIntakeDeps) {
    this.#deps = deps;
  }

  /** Answers how many were new. What finds no room stays with the control plane. @throws KubeError */
  async take(jobs: readonly unknown[], signal: AbortSignal): Promise<number> {
    const rest = jobs.values();
    const faults: unknown[] = [];
    const journaled: OpenJob[] = [];
    let taken = 0;
    const worker = async (): Promise<void> => {
      for (const job of rest) {
        try {
          if (await this.#takeOne(job, journaled, signal)) taken += 1;
        } catch (error) {
          signal.throwIfAborted();
          faults.push(error);
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, jobs.length) }, worker));
    // Together, so that a newer job of an object is not through before an older one of the same poll.
    for (const open of journaled) this.#deps.desk.admit(open);
    this.#taking.clear();
    if (faults.length > 0) throw faults[0];
    return taken;
  }

  /** Whether a poll brought nothing but what the control plane refuses to hear of, which it will be answered with at once, again. */
  broughtOnlyRefused(jobs: readonly unknown[]): boolean {
    return jobs.every((job) => this.#deps.reports.wasRefused(idOf(job) ?? ''));
  }

  async #takeOne(raw: unknown, journaled: OpenJob[], signal: AbortSignal): Promise<boolean> {
    const { journal, desk, reports, logger } = this.#deps;
    const job = this.#parse(raw);
    if (job === undefined) return false;
    if (reports.wasRefused(job.id)) return false;
    if (desk.get(job.id) !== undefined) {
      // An ack that was lost, or is still on its way.
      reports.toAck(job.id);
      return false;
    }
    if (reports.rejects(job.id) || this.#taking.has(job.id)) return false;
    const slot = journal.take();
    if (slot === undefined) return false;
    const open = newJob(job, this.#deps.clusterId(), slot);
    this.#taking.add(job.id);
    try {
      await journal.add(open, signal);
    } catch (error) {
      // It may be there although no answer came.
      journal.remove(open);
      if (!(error instanceof JobNotJournaled)) throw error;
      logger.error({ err: error, job: job.id }, 'a job is refused');
      reports.reject(job.id, error.message);
      return true;
    }
    journaled.push(open);
    logger.info({ job: job.id, kind: job.kind, key: job.idempotencyKey }, 'a job was received');
    return true;
  }

  /** A job that cannot be read does not hide the others; where it has an id, it is answered. */
  #parse(raw: unknown): Job | undefined {
    try {
      return parseJob(raw);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#deps.logger.error({ message: error.message }, 'a job cannot be read');
      const id = idOf(raw);
      const { reports } = this.#deps;
      if (id !== undefined && !reports.rejects(id) && !reports.wasRefused(id) && reports.room > 0) {
        reports.reject(id, `this operator version cannot read the job: ${error.message}`);
      }
      return undefined;
    }
  }
}

function idOf(raw: unknown): string | undefined {
  try {
    return parseNamed(raw).id;
  } catch {
    return undefined;
  }
}
