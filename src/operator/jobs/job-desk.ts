import type { JobVerdict } from '../../delivery/pull/judge-outcome.ts';
import { expiryOf, type OfferedJob } from '../../delivery/pull/job-source.ts';
import type { JobReading, JobSubject } from '../../delivery/pull/read-job.ts';
import type { StatusChange } from '../../events/report/reporter.ts';
import type { Condition } from '../../protocol/condition.ts';
import type { Job, JobPhase, JobResult } from '../../protocol/job.ts';
import { objectKey } from '../../reconcile/inventory-record.ts';
import { refOf, type KubeObject, type ObjectRef } from '../../resources/kube-object.ts';
import { Reason } from '../../resources/reasons.ts';
import { compareSource, type SourcePair } from '../../resources/source-annotation.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { JobJournal } from './job-journal.ts';
import { judgeApplied, judgeGoing } from './judge-progress.ts';
import type { OpenJob } from './open-job.ts';
import { RecentUids } from './recent-uids.ts';

export interface JobDeskDeps {
  readonly journal: Pick<JobJournal, 'changed' | 'remove'>;
  readonly source: { offer(job: OfferedJob): void; withdraw(id: string): void };
  /** There is something to acknowledge, or to report, for a job. */
  readonly toAck: (id: string) => void;
  readonly toReport: (id: string) => void;
  /** A job was acknowledged, or is over. */
  readonly onAcknowledged: () => void;
  /** The object's conditions as they are now; undefined where it is not there or has none yet. */
  readonly statusOf: (ref: ObjectRef) => StatusChange | undefined;
  readonly clock: Clock;
}

/** Statuses of one job that wait to be posted; from then on the newest takes the place of the last. */
const MAX_STATUSES = 32;

/**
 * The open jobs, each from its journal entry to the answer to its result. It decides what is reported of them, and sends
 * nothing itself.
 */
export class JobDesk {
  readonly #deps: JobDeskDeps;
  readonly #open = new Map<string, OpenJob>();
  readonly #gone = new RecentUids();

  constructor(deps: JobDeskDeps) {
    this.#deps = deps;
  }

  get(id: string): OpenJob | undefined {
    return this.#open.get(id);
  }

  list(): readonly OpenJob[] {
    return [...this.#open.values()];
  }

  /** Whether a job that is about this object has not been answered for yet. */
  isOpenFor(ref: ObjectRef): boolean {
    const key = objectKey(ref);
    return this.list().some(({ subject }) => subject !== undefined && objectKey(subject.ref) === key);
  }

  /** A job that is in the journal: what is to be done for it first depends on how far it has come. */
  admit(open: OpenJob): void {
    const { id } = open.job;
    this.#open.set(id, open);
    if (open.stage === 'received') this.#deps.toAck(id);
    else if (open.stage !== 'finished') this.#offer(open);
    if (open.statuses.length > 0 || open.result !== undefined) this.#deps.toReport(id);
  }

  acknowledged(id: string): void {
    const open = this.#open.get(id);
    if (open?.stage !== 'received') return;
    open.stage = 'acknowledged';
    open.waiting = undefined;
    this.#offerAcknowledged();
    this.#deps.onAcknowledged();
  }

  /** Its ack did not get through; it is sent again. */
  unacknowledged(id: string, message: string): void {
    const open = this.#open.get(id);
    if (open?.stage !== 'received') return;
    open.waiting = { reason: Reason.NotAcknowledged, message: `its ack is not taken yet: ${message}` };
  }

  /** The control plane will not have its ack, so it is not applied. Newer jobs of its object go on. */
  ackRefused(id: string, message: string): void {
    const open = this.#open.get(id);
    if (open?.stage !== 'received') return;
    this.finish(open, { outcome: 'failed', error: `its ack was refused, so it was not applied: ${message}` });
    this.#offerAcknowledged();
    this.#deps.onAcknowledged();
  }

  /** Nothing more is done or said for it: its result is answered, or the control plane has closed it or does not know it. */
  close(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    this.#deps.source.withdraw(id);
    this.#deps.journal.remove(open);
    if (open.stage !== 'received') return;
    this.#offerAcknowledged();
    this.#deps.onAcknowledged();
  }

  read(id: string, subject: JobSubject, { kind }: JobReading): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    open.subject = subject;
    open.isRemoval = kind === 'removal';
  }

  judged(id: string, verdict: JobVerdict): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    switch (verdict.state) {
      case 'waiting':
        open.waiting = { reason: verdict.reason, message: verdict.message };
        this.#sayWaiting(open, verdict.reason, verdict.message);
        return;
      case 'ended':
        this.finish(open, verdict.result);
        return;
      case 'applied':
        open.waiting = undefined;
        open.stage = 'applied';
        open.applied = verdict.ref ?? open.applied;
        this.#deps.journal.changed(open);
        this.#endOlder(open);
        this.#lookAt(open);
    }
  }

  /** A status was written or is told: the jobs of its object go on by it. */
  statusChanged(change: StatusChange): void {
    const key = objectKey(change.ref);
    for (const open of this.#open.values()) {
      if (open.subject !== undefined && objectKey(open.subject.ref) === key) this.#consider(open, change);
    }
  }

  objectGone(object: KubeObject): void {
    const { uid } = object.metadata;
    if (uid === undefined) return;
    this.#gone.add(uid);
    const key = objectKey(refOf(object));
    for (const open of this.#open.values()) {
      const isAbout = open.subject !== undefined && objectKey(open.subject.ref) === key;
      if (isAbout && open.stage === 'applied' && open.applied?.uid === uid) this.#ended(open);
    }
  }

  /** What is in the cluster and not ready by its `expiresAt` ends as failed; that it becomes ready later flows as events. */
  sweep(): void {
    const now = this.#deps.clock.now().getTime();
    for (const open of this.#open.values()) {
      if (open.stage !== 'applied' || expiryOf(open.job) > now) continue;
      const what = open.isRemoval ? 'its object is not gone' : 'its object is not ready';
      const said = open.lastSaid === '' ? '' : `: ${open.lastSaid}`;
      this.finish(open, { outcome: 'failed', error: `${what} by ${open.job.expiresAt}${said}`, ...refOfApplied(open) });
    }
  }

  finish(open: OpenJob, result: JobResult): void {
    if (open.stage === 'finished') return;
    open.stage = 'finished';
    open.waiting = undefined;
    open.result = { ...result, timestamp: this.#now() };
    this.#deps.source.withdraw(open.job.id);
    this.#deps.journal.changed(open);
    this.#deps.toReport(open.job.id);
  }

  /** Answers to acks come in any order; the jobs of one object go on in theirs. */
  #offerAcknowledged(): void {
    const jobs = this.list();
    for (const open of jobs) {
      const isHeld = jobs.some((other) => other.stage === 'received' && isOlder(other.job, open.job));
      if (open.stage === 'acknowledged' && !isHeld) this.#offer(open);
    }
  }

  #offer({ job, isNew, stage }: OpenJob): void {
    this.#deps.source.offer({ job, isNew, wasApplied: stage === 'applied' });
  }

  /** The object of an applied job left the cluster: what was to go has gone; what was to stay is brought again. */
  #ended(open: OpenJob): void {
    if (open.isRemoval) this.finish(open, { outcome: 'succeeded', ...refOfApplied(open) });
    else this.#offer(open);
  }

  #lookAt(open: OpenJob): void {
    const { applied, subject } = open;
    if (applied?.uid !== undefined && this.#gone.has(applied.uid)) {
      this.#ended(open);
      return;
    }
    const change = subject === undefined ? undefined : this.#deps.statusOf(subject.ref);
    if (change !== undefined) this.#consider(open, change);
  }

  #consider(open: OpenJob, change: StatusChange): void {
    const { applied, subject } = open;
    const pair = pairOf(change);
    if (open.stage !== 'applied' || subject === undefined || pair === undefined) return;
    if (applied?.uid !== undefined && change.ref.uid !== undefined && applied.uid !== change.ref.uid) return;
    // Delivered again by a switch of mode: the same intent, whose result is this job's too.
    const isHandedOver = pair.generation === subject.pair.generation && pair.epoch > subject.pair.epoch;
    const order = isHandedOver ? 0 : compareSource(pair, subject.pair);
    if (order > 0) this.#overtake(open, { ...pair, ...intentOf(change) });
    if (order !== 0 || (change.ref.generation ?? 0) < (applied?.generation ?? 0)) return;
    const progress = open.isRemoval ? judgeGoing(change) : judgeApplied(change);
    if (progress.state === 'ended') this.finish(open, progress.result);
    else this.#say(open, progress.phase, change.after);
  }

  /** Whatever an older job of the object waits for, it will not come any more. */
  #endOlder(open: OpenJob): void {
    const { subject, job } = open;
    if (subject === undefined) return;
    const by = { ...subject.pair, ...(job.intentId === undefined ? {} : { intentId: job.intentId }) };
    const key = objectKey(subject.ref);
    for (const other of this.#open.values()) {
      if (other === open || other.subject === undefined || objectKey(other.subject.ref) !== key) continue;
      if (compareSource(other.subject.pair, subject.pair) < 0) this.#overtake(other, by);
    }
  }

  #overtake(open: OpenJob, by: SourcePair & { readonly intentId?: string }): void {
    const error = `superseded by generation ${by.generation} before it was ${open.isRemoval ? 'finished' : 'ready'}`;
    this.finish(open, { outcome: 'noop', error, source: by, ...refOfApplied(open) });
  }

  #sayWaiting(open: OpenJob, reason: string, message: string): void {
    const text = `not applied yet: ${message}; it is tried again until ${open.job.expiresAt}`;
    const conditions: Condition[] = [
      { type: 'Ready', status: 'False', reason, message, lastTransitionTime: this.#now() },
    ];
    this.#say(open, 'Applying', conditions, text);
  }

  #say(open: OpenJob, phase: JobPhase, conditions: readonly Condition[], message?: string): void {
    const said = [phase, ...conditions.map(({ type, status, reason = '' }) => `${type}=${status} ${reason}`)].join(
      ', ',
    );
    if (said === open.lastSaid) return;
    open.lastSaid = said;
    const status = {
      phase,
      conditions: [...conditions],
      ...(message === undefined ? {} : { message }),
      timestamp: this.#now(),
    };
    open.statuses = [...open.statuses.slice(0, MAX_STATUSES - 1), status];
    this.#deps.journal.changed(open);
    this.#deps.toReport(open.job.id);
  }

  #now(): string {
    return this.#deps.clock.now().toISOString();
  }
}

const OBJECT_KEY = /^(.+)@(\d{1,15})$/;

/** By their keys, which name object and generation but for intents: what they are about is known once they are read. */
function isOlder(a: Job, b: Job): boolean {
  const [, objectA, generationA] = OBJECT_KEY.exec(a.idempotencyKey) ?? [];
  const [, objectB, generationB] = OBJECT_KEY.exec(b.idempotencyKey) ?? [];
  return objectA !== undefined && objectA === objectB && Number(generationA) < Number(generationB);
}

function pairOf({ source }: StatusChange): SourcePair | undefined {
  const { epoch, generation } = source;
  return epoch === undefined || generation === undefined ? undefined : { epoch, generation };
}

function intentOf({ source }: StatusChange): { readonly intentId?: string } {
  return source.intentId === undefined ? {} : { intentId: source.intentId };
}

function refOfApplied({ applied }: OpenJob): Pick<JobResult, 'appliedRef'> {
  return applied === undefined ? {} : { appliedRef: applied };
}
