import type { Condition } from '../../protocol/condition.ts';
import type { JobResult } from '../../protocol/job.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { AgentSession } from '../agent-session.ts';
import { postAck, postResult, postStatus, type JobAnswer } from './job-calls.ts';
import type { JobDesk } from './job-desk.ts';
import type { OpenJob } from './open-job.ts';
import { RecentUids } from './recent-uids.ts';
import { SendLane, type SendOutcome } from './send-lane.ts';

export interface JobReportsDeps {
  readonly session: AgentSession;
  readonly desk: Pick<JobDesk, 'get' | 'acknowledged' | 'unacknowledged' | 'ackRefused' | 'close'>;
  /** A job left the journal, or waits for something else. */
  readonly onChange: () => void;
  readonly onCondition: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Jobs that were refused without a journal entry and wait to be answered. */
const MAX_REJECTED = 100;
/** Refused for good: a control plane that goes on offering one of them offers nothing new. */
const MAX_REMEMBERED = 1000;
const DONE: SendOutcome = { state: 'done' };

/**
 * What is said to the control plane about jobs, in two lanes: acks never wait behind statuses and results, or behind events,
 * which have a way of their own. Of one job the statuses go in order, and its result last.
 */
export class JobReports {
  readonly #deps: JobReportsDeps;
  readonly #acks: SendLane;
  readonly #reports: SendLane;
  readonly #rejected = new Map<string, JobResult>();
  readonly #refused = new RecentUids(MAX_REMEMBERED);
  #hasRefused = false;

  constructor(deps: JobReportsDeps) {
    this.#deps = deps;
    this.#acks = new SendLane({ ...deps, name: 'acks', send: async (id, signal) => await this.#ack(id, signal) });
    this.#reports = new SendLane({
      ...deps,
      name: 'reports',
      send: async (id, signal) => await this.#report(id, signal),
    });
  }

  /** Jobs that may still be refused before the others are answered. */
  get room(): number {
    return MAX_REJECTED - this.#rejected.size;
  }

  toAck(id: string): void {
    this.#acks.add(id);
  }

  toReport(id: string): void {
    this.#reports.add(id);
  }

  /** Answers a job that has no journal entry, once; after a crash it is delivered and refused again. */
  reject(id: string, error: string): void {
    this.#rejected.set(id, { outcome: 'failed', error, timestamp: this.#deps.clock.now().toISOString() });
    this.#reports.add(id);
  }

  rejects(id: string): boolean {
    return this.#rejected.has(id);
  }

  /** The control plane has refused to hear of it. */
  wasRefused(id: string): boolean {
    return this.#refused.has(id);
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#acks.run(signal), this.#reports.run(signal)]);
  }

  async #ack(id: string, signal: AbortSignal): Promise<SendOutcome> {
    const { desk, session, logger } = this.#deps;
    if ((await this.#ours(id, signal)) === undefined) return DONE;
    const answer = await postAck(session, id, signal);
    switch (answer.state) {
      case 'taken':
        desk.acknowledged(id);
        this.#deps.onChange();
        return DONE;
      case 'closed':
      case 'unknown':
        // Closed before it was acknowledged: overtaken by a newer one, or past its time. Nothing of it is applied.
        logger.info({ job: id, answer: answer.state }, 'the control plane has closed the job; it is dropped');
        this.#close(id);
        return DONE;
      case 'refused':
        // No retry case, and without an ack nothing is applied.
        this.#showRefused(id, 'ack', answer.message);
        desk.ackRefused(id, answer.message);
        return DONE;
      case 'retry':
        desk.unacknowledged(id, answer.message);
        this.#deps.onChange();
        return retry(answer);
    }
  }

  /**
   * The job, where it is of the record that the session speaks for. One of another record, which the cluster was registered
   * under before, is dropped: speaking of it would be refused as another cluster's, and that stops the operator.
   */
  async #ours(id: string, signal: AbortSignal): Promise<OpenJob | undefined> {
    const { desk, session, logger } = this.#deps;
    await session.opened(signal);
    const open = desk.get(id);
    if (open === undefined || open.clusterId === session.clusterId) return open;
    logger.warn(
      { job: id, cluster: open.clusterId },
      'the cluster is registered under another record; its job is dropped',
    );
    this.#close(id);
    return undefined;
  }

  async #report(id: string, signal: AbortSignal): Promise<SendOutcome> {
    const { desk, session } = this.#deps;
    const rejected = this.#rejected.get(id);
    if (rejected !== undefined) return await this.#answerRejected(id, rejected, signal);
    for (let open = await this.#ours(id, signal); open !== undefined; open = desk.get(id)) {
      const [status] = open.statuses;
      if (status === undefined) {
        if (open.result === undefined) return DONE;
        return this.#ended(id, await postResult(session, id, open.result, signal));
      }
      const answer = await postStatus(session, id, status, signal);
      if (answer.state === 'retry') return retry(answer);
      if (answer.state === 'closed' || answer.state === 'unknown') {
        this.#close(id);
        return DONE;
      }
      if (answer.state === 'refused') this.#showRefused(id, 'status', answer.message);
      const { statuses } = open;
      open.statuses = statuses.filter((other) => other !== status);
    }
    return DONE;
  }

  #ended(id: string, answer: JobAnswer): SendOutcome {
    if (answer.state === 'retry') return retry(answer);
    if (answer.state === 'refused') this.#showRefused(id, 'result', answer.message);
    // Of a job whose ack was refused it says nothing that its result was not.
    else if (!this.#refused.has(id)) this.#showTaken();
    this.#close(id);
    return DONE;
  }

  async #answerRejected(id: string, result: JobResult, signal: AbortSignal): Promise<SendOutcome> {
    const acknowledged = await postAck(this.#deps.session, id, signal);
    const answer =
      acknowledged.state === 'taken' ? await postResult(this.#deps.session, id, result, signal) : acknowledged;
    if (answer.state === 'retry') return retry(answer);
    if (answer.state === 'refused') this.#showRefused(id, 'result', answer.message);
    this.#rejected.delete(id);
    this.#deps.onChange();
    return DONE;
  }

  #close(id: string): void {
    this.#deps.desk.close(id);
    this.#deps.onChange();
  }

  #showRefused(id: string, what: 'ack' | 'status' | 'result', message: string): void {
    this.#hasRefused = true;
    if (what !== 'status') this.#refused.add(id);
    this.#deps.logger.error({ job: id, message }, `the ${what} of a job is refused for good`);
    this.#deps.onCondition({
      type: 'JobReportRefused',
      status: 'True',
      reason: Reason.ReportRefused,
      message: `the control plane refused the ${what} of job ${id} for good: ${message}`,
    });
  }

  #showTaken(): void {
    if (!this.#hasRefused) return;
    this.#hasRefused = false;
    this.#deps.onCondition({
      type: 'JobReportRefused',
      status: 'False',
      reason: Reason.ReportsTaken,
      message: 'the control plane takes the results of jobs',
    });
  }
}

function retry(answer: Extract<JobAnswer, { readonly message: string }>): SendOutcome {
  const afterMs = answer.state === 'retry' ? answer.afterMs : undefined;
  return { state: 'retry', message: answer.message, ...(afterMs === undefined ? {} : { afterMs }) };
}
