import { JobSource } from '../../delivery/pull/job-source.ts';
import type { JobSubject } from '../../delivery/pull/read-job.ts';
import type { PayloadRefusal } from '../../delivery/pull/job-payload.ts';
import { readJob } from '../../delivery/pull/read-job.ts';
import type { Reporter, StatusChange } from '../../events/report/reporter.ts';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { Condition } from '../../protocol/condition.ts';
import type { Job } from '../../protocol/job.ts';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import type { Cluster } from '../../resources/cluster.ts';
import { refOf, type KubeObject, type ObjectRef } from '../../resources/kube-object.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secret } from '../../runtime/secret.ts';
import { Wake } from '../../runtime/wake.ts';
import type { AgentSession } from '../agent-session.ts';
import type { Contact } from '../contact.ts';
import { runLoops } from '../run-loops.ts';
import { JobDesk } from './job-desk.ts';
import { JobIntake } from './job-intake.ts';
import { JobJournal } from './job-journal.ts';
import { JobPoll } from './job-poll.ts';
import { JobReports } from './job-reports.ts';
import { jobsCondition } from './jobs-condition.ts';
import { watchJournal } from './watch-journal.ts';

export interface PullJobsDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  readonly cluster: () => Cluster;
  readonly session: AgentSession;
  readonly contact: Contact;
  readonly policy: () => ClusterPolicy;
  /** Resolves once the configuration is as new as what the newest answer named. Rejects with the signal's reason. */
  readonly configured: (signal: AbortSignal) => Promise<void>;
  /** Reads the configuration anew, whatever the answers name. */
  readonly renewConfig: () => void;
  /** The cluster's private keys, the current one first; undefined before they were read. */
  readonly keyRing: () => readonly Secret[] | undefined;
  readonly statusOf: (ref: ObjectRef) => StatusChange | undefined;
  /** The key of the delivery that brought the object's present pair. */
  readonly broughtBy: (subject: JobSubject) => string | undefined;
  /** A payload was refused in a way that is audited. */
  readonly onRefusedPayload: (job: Job, event: NonNullable<PayloadRefusal['event']>, message: string) => void;
  /** `what` does not work for this fault; undefined: it works (again). */
  readonly onFault: (what: string, fault: unknown) => void;
  readonly onConditions: (conditions: readonly Omit<Condition, 'lastTransitionTime'>[]) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const RETRY = { minMs: 500, maxMs: 30_000 };
const SWEEP_MS = 30_000;
const JOURNAL_FAULT = 'the job journal cannot be read or written, and no job is taken before';
/** The next poll waits for the acks of the last one for so long. */
const ACK_MS = 1000;
/** The next poll after one that brought only jobs that were refused. */
const ONLY_REFUSED_MS = 5000;

/**
 * Pull mode at the operator:
 *
 *     poll ──► journal ──► ack ──► source ──► apply ──► (the reconciler's reports) ──► status, result ──► out of the journal
 *
 * Each arrow is repeated after a crash, and repeating any of them changes nothing.
 */
export class PullJobs implements Reporter {
  readonly source: JobSource;
  readonly #deps: PullJobsDeps;
  readonly #journal: JobJournal;
  readonly #desk: JobDesk;
  readonly #reports: JobReports;
  readonly #poll: JobPoll;
  readonly #acknowledged = new Wake();
  #isLoaded = false;
  #fault: string | undefined;
  #journalFault: string | undefined;

  constructor(deps: PullJobsDeps) {
    this.#deps = deps;
    const { clock, random, logger, session, contact, policy } = deps;
    const clusterId = (): string => policy().clusterId;
    this.#journal = new JobJournal({ ...deps, clusterId, onFree: () => this.#poll.resume() });
    this.source = new JobSource({
      clock,
      random,
      logger,
      ready: async (signal) => await deps.configured(signal),
      renew: deps.renewConfig,
      read: async (job) => await this.#read(job),
      broughtBy: deps.broughtBy,
      onRead: (id, subject, reading) => this.#desk.read(id, subject, reading),
      onRefused: (id, refusal) => this.#refused(id, refusal),
      onVerdict: (id, verdict) => {
        this.#desk.judged(id, verdict);
        this.#tellWaiting();
      },
    });
    this.#desk = new JobDesk({
      journal: this.#journal,
      source: this.source,
      toAck: (id) => this.#reports.toAck(id),
      toReport: (id) => this.#reports.toReport(id),
      onAcknowledged: () => this.#acknowledged.ring(),
      statusOf: deps.statusOf,
      clock,
    });
    this.#reports = new JobReports({
      session,
      desk: this.#desk,
      onChange: () => this.#tellWaiting(),
      onCondition: (condition) => deps.onConditions([condition]),
      clock,
      random,
      logger,
    });
    const intake = new JobIntake({
      journal: this.#journal,
      desk: this.#desk,
      reports: this.#reports,
      clusterId,
      logger,
    });
    this.#poll = new JobPoll({
      session,
      contact,
      isPull: () => this.#isLoaded && policy().mode === 'pull',
      room: () => Math.min(this.#journal.room, this.#reports.room),
      take: async (jobs, signal) => await this.#take(intake, jobs, signal),
      acknowledged: async (signal) => await this.#untilAcknowledged(signal),
      onFault: (message) => {
        this.#fault = message;
        this.#tellWaiting();
      },
      clock,
      random,
      logger,
    });
  }

  statusChanged(change: StatusChange): void {
    this.#desk.statusChanged(change);
  }

  /** Whether a job that brought the object has not been answered for yet. */
  owes(object: KubeObject): boolean {
    return this.#desk.isOpenFor(refOf(object));
  }

  /** An object of a kind that is delivered left the cluster. */
  objectGone(object: KubeObject): void {
    this.#desk.objectGone(object);
    // A newer job of the object may have waited for just that.
    this.source.lookAgain();
  }

  /** What is allowed, where the operator may work, or the mode may be another one. */
  policyChanged(): void {
    this.source.lookAgain();
    this.#poll.resume();
    this.#tellWaiting();
  }

  /** Another credential or address. */
  restart(): void {
    this.#poll.restart();
  }

  /** Runs until aborted; the first policy must be there. Rejects when a loop ends by a fault of ours. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#load(signal);
    const results = await runLoops(
      {
        'job journal': async (either) => await this.#journal.run(either),
        'job journal, whole': async (either) =>
          await watchJournal({ ...this.#deps, journal: this.#journal, desk: this.#desk }, either),
        'job reports': async (either) => await this.#reports.run(either),
        'job poll': async (either) => await this.#poll.run(either),
        'job deadlines': async (either) => await this.#watchDeadlines(either),
      },
      signal,
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const found = await this.#journal.load(signal);
        for (const open of found) this.#desk.admit(open);
        this.#isLoaded = true;
        this.#noteJournal(undefined);
        if (found.length > 0) logger.info({ jobs: found.length }, 'open jobs of before the start are taken up again');
        return;
      } catch (error) {
        signal.throwIfAborted();
        // A Role of before the journal lacks its rights; other modes do without.
        this.#noteJournal(this.#deps.policy().mode === 'pull' ? error : undefined);
        logger.warn({ err: error, attempt }, 'the job journal cannot be read yet; no jobs are asked for before');
        await clock.sleep(backoffMs(RETRY, attempt, random), signal);
      }
    }
  }

  async #take(intake: JobIntake, jobs: readonly unknown[], signal: AbortSignal): Promise<number> {
    try {
      const taken = await intake.take(jobs, signal);
      this.#noteJournal(undefined);
      if (taken > 0 || !intake.broughtOnlyRefused(jobs)) return taken;
      // No fault that grows by repeating: a job that is new is not to wait longer for them each time.
      await this.#deps.clock.sleep(ONLY_REFUSED_MS * (1 + this.#deps.random() / 5), signal);
      return jobs.length;
    } catch (error) {
      signal.throwIfAborted();
      this.#noteJournal(error);
      throw error;
    }
  }

  #noteJournal(fault: unknown): void {
    this.#deps.onFault(JOURNAL_FAULT, fault);
    const said = fault === undefined ? undefined : `${JOURNAL_FAULT}: ${messageOf(fault)}`;
    if (said === this.#journalFault) return;
    this.#journalFault = said;
    this.#tellWaiting();
  }

  async #untilAcknowledged(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const until = clock.now().getTime() + ACK_MS;
    while (this.#desk.list().some(({ stage }) => stage === 'received')) {
      const left = until - clock.now().getTime();
      if (left <= 0) return;
      await this.#acknowledged.waitAtMost(left, clock, signal);
    }
  }

  async #watchDeadlines(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#desk.sweep();
      await this.#deps.clock.sleep(SWEEP_MS, signal).catch(() => undefined);
    }
  }

  async #read(job: Job) {
    const keyRing = this.#deps.keyRing();
    if (keyRing === undefined && job.encryptedPayload !== undefined) return undefined;
    const reading = await readJob(job, { ...this.#deps.policy(), keyRing: keyRing ?? [] });
    if (reading.kind !== 'refused' && !reading.isSigned) {
      this.#deps.logger.warn({ job: job.id }, 'the payload of a job carries no signature; it is admitted');
    }
    return reading;
  }

  #refused(id: string, refusal: PayloadRefusal): void {
    const open = this.#desk.get(id);
    if (open === undefined) return;
    this.#deps.logger.error({ job: id, message: refusal.message }, 'the payload of a job is refused');
    if (refusal.event !== undefined) this.#deps.onRefusedPayload(open.job, refusal.event, refusal.message);
    const error = refusal.event === undefined ? refusal.message : `${refusal.event}: ${refusal.message}`;
    this.#desk.finish(open, { outcome: 'failed', error });
  }

  /** `Synced` is of the source that the mode names. */
  #tellWaiting(): void {
    if (this.#deps.policy().mode !== 'pull') return;
    this.#deps.onConditions([jobsCondition(this.#desk.list(), { poll: this.#fault, journal: this.#journalFault })]);
  }
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
