import { EXPIRED, type Job } from '../../protocol/job.ts';
import { Reason } from '../../resources/reasons.ts';
import { compareSource } from '../../resources/source-annotation.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Wake } from '../../runtime/wake.ts';
import type { DesiredSet, Outcome, Source } from '../delivery.ts';
import { judgeOutcome, type JobVerdict } from './judge-outcome.ts';
import type { PayloadRefusal } from './job-payload.ts';
import type { JobReading, JobSubject } from './read-job.ts';

/** A job that may be applied: it is in the journal and acknowledged. */
export interface OfferedJob {
  readonly job: Job;
  /** It came with this process' own poll, and nobody has tried it yet. */
  readonly isNew: boolean;
  readonly wasApplied: boolean;
}

export interface JobSourceDeps {
  /** Resolves once what the control plane allows is known as of its newest answer (the fence of a mode switch). */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** Reads the configuration anew, which `ready` then waits for. */
  readonly renew: () => void;
  /** Opens, verifies and reads a job; undefined while that is not possible yet. */
  readonly read: (job: Job) => Promise<JobReading | undefined>;
  /** What brought the object's present pair: another job's id means that this job's work was done before it came. */
  readonly broughtBy: (subject: JobSubject) => string | undefined;
  readonly onRead: (id: string, subject: JobSubject, reading: JobReading) => void;
  readonly onRefused: (id: string, refusal: PayloadRefusal) => void;
  readonly onVerdict: (id: string, verdict: JobVerdict) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

interface Entry extends OfferedJob {
  reading?: Exclude<JobReading, { kind: 'refused' }>;
  /** Passes over it. */
  attempts: number;
  /** Failures in a row. */
  failures: number;
  /** In milliseconds. */
  notBefore: number;
  broughtBy?: string | undefined;
  /** The configuration was read anew for it. */
  isRenewed?: true;
}

const RETRY = { minMs: 1000, maxMs: 60_000 };
/** Objects of one pass: a few slow ones hold up no more than these. */
const BATCH = 32;

/**
 * Operator's end of pull: holds the jobs that are to be applied and yields them as sets of a few objects, each object at
 * most once a set, an older job before a newer one of the same object. What may pass is yielded again, with growing waits.
 */
export class JobSource implements Source {
  readonly #deps: JobSourceDeps;
  readonly #wake = new Wake();
  readonly #entries = new Map<string, Entry>();

  constructor(deps: JobSourceDeps) {
    this.#deps = deps;
  }

  offer(offered: OfferedJob): void {
    if (this.#entries.has(offered.job.id)) return;
    this.#entries.set(offered.job.id, { ...offered, attempts: 0, failures: 0, notBefore: 0 });
    this.#wake.ring();
  }

  withdraw(id: string): void {
    this.#entries.delete(id);
  }

  /** What is allowed, or where the operator may work, changed: what waits is tried at once. */
  lookAgain(): void {
    for (const entry of this.#entries.values()) {
      entry.notBefore = 0;
      entry.failures = 0;
    }
    this.#wake.ring();
  }

  async *desired(signal: AbortSignal): AsyncIterable<DesiredSet> {
    while (!signal.aborted) {
      await this.#due(signal);
      await this.#deps.ready(signal);
      const set = await this.#nextSet();
      if (set.objects.length > 0 || set.removals.length > 0) yield set;
    }
  }

  async settle(key: string, outcome: Outcome): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry?.reading === undefined) return;
    const isFirstTry = entry.attempts === 0 && !entry.wasApplied && this.#isForeign(entry);
    entry.attempts += 1;
    const kind = entry.reading.kind === 'object' ? 'apply' : 'delete';
    const verdict = judgeOutcome(kind, outcome, { isFirstTry, wasApplied: entry.wasApplied });
    if (verdict.state === 'waiting') this.#retryLater(entry);
    else this.#entries.delete(key);
    this.#deps.onVerdict(key, verdict);
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#entries.clear();
    await Promise.resolve();
  }

  /** Until some job is to be tried. */
  async #due(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    for (;;) {
      const now = clock.now().getTime();
      const waits = [...this.#entries.values()].map((entry) => dueAt(entry) - now);
      const wait = Math.min(...waits);
      if (wait <= 0) return;
      if (wait === Infinity) await this.#wake.wait(signal);
      else await this.#wake.waitAtMost(wait, clock, signal);
    }
  }

  async #nextSet(): Promise<DesiredSet> {
    const now = this.#deps.clock.now().getTime();
    for (const entry of this.#entries.values()) if (isExpired(entry, now)) this.#expire(entry);
    const due = [...this.#entries.values()].filter((entry) => dueAt(entry) <= now);
    for (const entry of due) await this.#read(entry);
    const objects: DesiredSet['objects'][number][] = [];
    const removals: DesiredSet['removals'][number][] = [];
    for (const { reading } of this.#oneEach(now).slice(0, BATCH)) {
      if (reading?.kind === 'object') objects.push(reading.item);
      if (reading?.kind === 'removal') removals.push(reading.removal);
    }
    return { scope: 'partial', objects, removals, faults: [] };
  }

  /** A job is skipped by its `expiresAt` until its object is in the cluster; from then on it is only a matter of reporting. */
  #expire({ job }: Entry): void {
    this.#entries.delete(job.id);
    this.#deps.onVerdict(job.id, { state: 'ended', result: { outcome: 'noop', error: EXPIRED } });
  }

  async #read(entry: Entry): Promise<void> {
    const { job } = entry;
    if (entry.reading !== undefined) return;
    let reading: JobReading | undefined;
    try {
      reading = await this.#deps.read(job);
    } catch (error) {
      this.#deps.logger.error({ err: error, job: job.id }, 'a job cannot be read; it is tried again');
    }
    if (!this.#entries.has(job.id)) return;
    if (reading === undefined) {
      this.#retryLater(entry);
      const message = 'the job cannot be opened yet; it is tried again';
      this.#deps.onVerdict(job.id, { state: 'waiting', reason: Reason.ApplyFailed, message });
      return;
    }
    if (reading.kind === 'refused' && reading.refusal.isAhead === true && entry.isRenewed !== true) {
      entry.isRenewed = true;
      entry.notBefore = this.#deps.clock.now().getTime() + RETRY.minMs;
      this.#deps.renew();
      return;
    }
    if (reading.kind === 'refused') {
      this.#entries.delete(job.id);
      this.#deps.onRefused(job.id, reading.refusal);
      return;
    }
    entry.reading = reading;
    entry.broughtBy = this.#deps.broughtBy(reading.subject);
    this.#deps.onRead(job.id, reading.subject, reading);
  }

  /** One due job an object: the oldest that was not tried yet; else the newest, as the older ones can only be overtaken. */
  #oneEach(now: number): readonly Entry[] {
    const byObject = new Map<string, Entry[]>();
    for (const entry of this.#entries.values()) {
      if (entry.reading === undefined || dueAt(entry) > now) continue;
      const { apiVersion, kind, namespace, name } = entry.reading.subject.ref;
      const key = [apiVersion.split('/')[0], kind, namespace, name].join('/');
      byObject.set(key, [...(byObject.get(key) ?? []), entry]);
    }
    return [...byObject.values()].flatMap((entries) => {
      const ordered = entries.toSorted(byOrder);
      return ordered.find(({ attempts }) => attempts === 0) ?? ordered.at(-1) ?? [];
    });
  }

  /** Whether what is in the cluster of this job cannot have come from an attempt of its own. */
  #isForeign({ isNew, broughtBy, job }: Entry): boolean {
    return isNew || (broughtBy !== undefined && broughtBy !== '' && broughtBy !== job.id);
  }

  #retryLater(entry: Entry): void {
    entry.failures += 1;
    entry.notBefore = this.#deps.clock.now().getTime() + backoffMs(RETRY, entry.failures, this.#deps.random);
  }
}

function dueAt(entry: Entry): number {
  return entry.wasApplied ? entry.notBefore : Math.min(entry.notBefore, expiryOf(entry.job));
}

function isExpired(entry: Entry, now: number): boolean {
  return !entry.wasApplied && expiryOf(entry.job) <= now;
}

/** In milliseconds. A leap second, which RFC 3339 knows and `Date` does not, counts as the one before it. */
export function expiryOf({ expiresAt }: Pick<Job, 'expiresAt'>): number {
  return Date.parse(expiresAt.replace(/:60(?=[.Zz+-])/, ':59'));
}

function byOrder(a: Entry, b: Entry): number {
  const [first, second] = [a.reading?.subject.pair, b.reading?.subject.pair];
  return first === undefined || second === undefined ? 0 : compareSource(first, second);
}
