import type { Clock } from '../../../runtime/clock.ts';
import { configTopic, jobsTopic } from '../../topics.ts';
import type { LastContact } from '../../store/last-contact.ts';
import type { Wakeups } from '../../wakeups.ts';
import { DeadlineWheel, type Expiring } from './deadline-wheel.ts';

/** Polls of one cluster that are held at once: a restart, a second replica (decisions, "Jobs"). */
const MAX_HELD = 3;

/** A poll that is held is contact: a cluster that waits for five minutes is not silent. */
const CONTACT_EVERY_MS = 60_000;

export interface HeldPollsDeps {
  readonly wakeups: Pick<Wakeups, 'watch' | 'unwatch'>;
  readonly clock: Clock;
  readonly lastContact: Pick<LastContact, 'touch'>;
}

/**
 * Every job poll that this process holds. Made to hold tens of thousands: a poll has no timer, no signal and no
 * subscription of its own, a cluster has two subscriptions, the process has one timer.
 *
 * ```
 * held ── the cluster's jobs or its configuration changed ──► look (then it answers, or is held again)
 *      └─ its wait is over, a fourth came, its client went, the server closes ──► ended
 * ```
 */
export class HeldPolls {
  readonly #deps: HeldPollsDeps;
  readonly #wheel: DeadlineWheel;
  readonly #clusters = new Map<string, PollsOfCluster>();
  #isClosing = false;

  constructor(deps: HeldPollsDeps) {
    this.#deps = deps;
    this.#wheel = new DeadlineWheel(deps);
  }

  /** Takes a place. Do it before the first look, so that nothing that changes after the look is missed. */
  hold(clusterId: string, waitMs: number): HeldPoll {
    let polls = this.#clusters.get(clusterId);
    if (polls === undefined) {
      polls = new PollsOfCluster(clusterId, this.#deps, () => this.#clusters.delete(clusterId));
      this.#clusters.set(clusterId, polls);
    }
    const poll = new HeldPoll(polls, this.#wheel, this.#deps.clock.now().getTime(), waitMs);
    if (this.#isClosing) poll.end();
    return poll;
  }

  /** How many are held, of one cluster or of all. */
  count(clusterId?: string): number {
    if (clusterId !== undefined) return this.#clusters.get(clusterId)?.polls.length ?? 0;
    let count = 0;
    for (const { polls } of this.#clusters.values()) count += polls.length;
    return count;
  }

  /** The server is closing: all of them end now, and those that come later end at once. */
  endAll(): void {
    this.#isClosing = true;
    // Copied, since each that ends is taken out.
    const all = [...this.#clusters.values()].flatMap(({ polls }) => polls);
    for (const poll of all) poll.end();
  }
}

class PollsOfCluster {
  /** The newest last. */
  readonly polls: HeldPoll[] = [];
  readonly #clusterId: string;
  readonly #deps: HeldPollsDeps;
  readonly #forget: () => void;
  readonly #wakeNewest = (): void => this.polls.at(-1)?.wake();
  readonly #wakeAll = (): void => {
    for (const poll of this.polls) poll.wake();
  };

  constructor(clusterId: string, deps: HeldPollsDeps, forget: () => void) {
    this.#clusterId = clusterId;
    this.#deps = deps;
    this.#forget = forget;
    deps.wakeups.watch(jobsTopic(clusterId), this.#wakeNewest);
    deps.wakeups.watch(configTopic(clusterId), this.#wakeAll);
  }

  add(poll: HeldPoll): void {
    this.polls.push(poll);
    if (this.polls.length > MAX_HELD) this.polls[0]?.end();
  }

  touch(): void {
    this.#deps.lastContact.touch(this.#clusterId);
  }

  remove(poll: HeldPoll): void {
    const index = this.polls.indexOf(poll);
    if (index === -1) return;
    const wasNewest = index === this.polls.length - 1;
    this.polls.splice(index, 1);
    if (this.polls.length > 0) {
      // The jobs that the newest was woken for and did not take are the next one's.
      if (wasNewest && !poll.hasTaken) this.#wakeNewest();
      return;
    }
    this.#deps.wakeups.unwatch(jobsTopic(this.#clusterId), this.#wakeNewest);
    this.#deps.wakeups.unwatch(configTopic(this.#clusterId), this.#wakeAll);
    this.#forget();
  }
}

/** What a held poll does next: look whether there are jobs, or answer without any. */
export type Next = 'look' | 'ended';

/** One held poll. Dispose it when it answers. */
export class HeldPoll implements Expiring, Disposable {
  readonly #polls: PollsOfCluster;
  readonly #wheel: DeadlineWheel;
  #slot: number;
  /** In milliseconds: what is left of the wait after the present leg of it, which ends at `#legEnd`. */
  #left: number;
  #legEnd: number;
  hasTaken = false;
  #woken = false;
  #ended = false;
  #waiter: ((next: Next) => void) | undefined;

  constructor(polls: PollsOfCluster, wheel: DeadlineWheel, nowMs: number, waitMs: number) {
    this.#polls = polls;
    this.#wheel = wheel;
    this.#left = waitMs;
    this.#legEnd = nowMs;
    this.#slot = this.#nextLeg();
    polls.add(this);
  }

  /** The newest poll of a cluster gets its jobs. */
  get isNewest(): boolean {
    return this.#polls.polls.at(-1) === this;
  }

  /** It answers with jobs: until they are acknowledged nobody else needs to look for them. */
  take(): void {
    this.hasTaken = true;
  }

  /** Until something may have changed, or it must answer. For one waiter. */
  next(): Promise<Next> {
    return new Promise((resolve) => {
      this.#waiter = resolve;
      if (this.#ended) this.#resume('ended');
      else if (this.#woken) this.#resume('look');
    });
  }

  wake(): void {
    if (this.#waiter === undefined) this.#woken = true;
    else this.#resume('look');
  }

  /** A leg of the wait is over: for the wheel. */
  expire(): void {
    if (this.#left > 0) {
      this.#polls.touch();
      this.#slot = this.#nextLeg();
    } else this.end();
  }

  end(): void {
    this.#ended = true;
    this[Symbol.dispose]();
    this.#resume('ended');
  }

  [Symbol.dispose](): void {
    this.#wheel.remove(this.#slot, this);
    this.#polls.remove(this);
  }

  #nextLeg(): number {
    const leg = Math.min(this.#left, CONTACT_EVERY_MS);
    this.#left -= leg;
    this.#legEnd += leg;
    return this.#wheel.add(this.#legEnd, this);
  }

  #resume(next: Next): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.#woken = false;
    waiter?.(next);
  }
}
