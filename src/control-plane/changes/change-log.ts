import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import {
  isInOrder,
  markTransactions,
  oldestTransaction,
  reachOfChanges,
  readChanges,
  type StoredChange,
} from '../store/change-pages.ts';
import type { Store } from '../store/open-store.ts';
import { CHANGES_TOPIC } from '../topics.ts';
import { Wakeups } from '../wakeups.ts';

/** Rows of a read, and how many are kept for those who follow. */
const PAGE = 1000;
const KEPT = 5000;
/** Reads are at least so far apart: what comes meanwhile comes together. */
const BETWEEN_MS = 100;
/** Looked so often without a wake-up, as from a replica that died before it could tell. */
const LOOK_MS = 5000;
/** So long a number may be missing before those behind it are told all the same, with a reset. */
const MAX_GAP_MS = 120_000;
const SETTLED = 'settled';

export interface ChangeLogDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A missing number: taken back, or of a transaction that has not ended. */
interface Gap {
  /** Everything up to here was numbered before `mark` was taken. */
  readonly upTo: number;
  readonly mark: bigint;
  readonly since: number;
}

/**
 * Follows the log of changes for all streams of this process, while there are any. It hands out what is settled: behind it
 * nothing with a smaller number can appear any more.
 *
 * ```
 * seen  1 2 3 . 5 6      4 is missing: settled up to 3, a mark is taken
 *             4          its transaction commits: settled up to 6
 *             ✗          every transaction older than the mark has ended, and it did not come: settled up to 6
 * ```
 */
export class ChangeLog {
  readonly #deps: ChangeLogDeps;
  /** Of this process alone. */
  readonly #bell: Wakeups;
  readonly #followers = new Set<object>();
  #settled: number | undefined;
  #gap: Gap | undefined;
  /** Numbers up to here may have been passed over: whoever was before it begins anew. */
  #doubtfulUpTo = 0;
  #kept: StoredChange[] = [];
  /** What is kept is complete behind this number. */
  #keptAfter = 0;

  constructor(deps: ChangeLogDeps) {
    this.#deps = deps;
    this.#bell = new Wakeups({ clock: deps.clock });
    deps.store.onChanges?.(() => deps.wakeups.notify(CHANGES_TOPIC));
  }

  /** Up to which number everything is known; undefined: not yet. */
  get settled(): number | undefined {
    return this.#settled;
  }

  get doubtfulUpTo(): number {
    return this.#doubtfulUpTo;
  }

  /** Follows the log for somebody until that is disposed. */
  follow(): Disposable {
    const follower = {};
    this.#followers.add(follower);
    this.#deps.wakeups.wake(CHANGES_TOPIC);
    return { [Symbol.dispose]: () => void this.#followers.delete(follower) };
  }

  /** What is kept behind that number; undefined when that is not kept any more, and is to be read from the database. */
  keptAfter(seq: number): readonly StoredChange[] | undefined {
    if (this.#settled === undefined || seq < this.#keptAfter) return undefined;
    const at = this.#kept.findIndex((change) => change.seq > seq);
    return at === -1 ? [] : this.#kept.slice(at);
  }

  /** To be taken before `settled` is looked at, for `wait`. */
  get version(): number {
    return this.#bell.version(SETTLED);
  }

  /** @throws the signal's reason when aborted first */
  async wait(sinceVersion: number, signal: AbortSignal, ms: number): Promise<void> {
    await this.#bell.waitFor(SETTLED, sinceVersion, signal, ms);
  }

  /** Wakes all who wait, to look at themselves. */
  ring(): void {
    this.#bell.wake(SETTLED);
  }

  async run(stop: AbortSignal): Promise<void> {
    const { wakeups, clock, logger } = this.#deps;
    while (!stop.aborted) {
      const seen = wakeups.version(CHANGES_TOPIC);
      let isWaiting = false;
      try {
        isWaiting = await this.turn();
      } catch (error) {
        logger.warn({ err: error }, 'the log of changes could not be read; trying again');
      }
      try {
        await clock.sleep(BETWEEN_MS, stop);
        if (!isWaiting) await wakeups.waitFor(CHANGES_TOPIC, seen, stop, LOOK_MS);
      } catch (error) {
        if (!stop.aborted) throw error;
      }
    }
  }

  /** One look. @returns whether there is more, or a number is missing: look again soon */
  async turn(): Promise<boolean> {
    if (this.#followers.size === 0) {
      this.#settled = undefined;
      this.#gap = undefined;
      this.#kept = [];
      return false;
    }
    if (this.#settled === undefined) return await this.#begin();
    const { db } = this.#deps.store;
    // Before the rows: what has ended by then is seen by the read that follows.
    const oldest = this.#gap === undefined ? 0n : await oldestTransaction(db);
    const rows = await readChanges(db, { after: this.#settled, limit: PAGE });
    const settled = isInOrder(this.#deps.store) ? rows : await this.#settle(this.#settled, rows, oldest);
    this.#keep(settled);
    return settled.length < rows.length || rows.length === PAGE;
  }

  /** From the end of the log on, once nothing before it can appear any more. */
  async #begin(): Promise<boolean> {
    const { store, clock } = this.#deps;
    let gap = this.#gap;
    if (gap === undefined) {
      const { to } = await reachOfChanges(store.db);
      const mark = isInOrder(store) ? 0n : await markTransactions(store.db);
      gap = { upTo: to, mark, since: clock.now().getTime() };
      this.#gap = gap;
    }
    const isOver = isInOrder(store) || (await oldestTransaction(store.db)) >= gap.mark || this.#isTooLong(gap);
    if (!isOver) return true;
    this.#gap = undefined;
    this.#settled = gap.upTo;
    this.#keptAfter = gap.upTo;
    this.ring();
    return true;
  }

  async #settle(after: number, rows: readonly StoredChange[], oldest: bigint): Promise<readonly StoredChange[]> {
    const gap = this.#gap;
    const isOver = gap !== undefined && (oldest >= gap.mark || this.#isTooLong(gap));
    const passable = isOver ? gap.upTo : 0;
    let expected = after + 1;
    for (const [index, { seq }] of rows.entries()) {
      if (seq !== expected && seq > passable) {
        if (gap === undefined || isOver) await this.#mark(rows.at(-1)?.seq ?? seq);
        return rows.slice(0, index);
      }
      expected = seq + 1;
    }
    this.#gap = undefined;
    return rows;
  }

  async #mark(upTo: number): Promise<void> {
    const { store, clock } = this.#deps;
    this.#gap = { upTo, mark: await markTransactions(store.db), since: clock.now().getTime() };
  }

  /** Some transaction of this server, perhaps another program's, does not end. Its numbers are given up, and said to be. */
  #isTooLong({ upTo, since }: Gap): boolean {
    if (this.#deps.clock.now().getTime() - since < MAX_GAP_MS) return false;
    this.#doubtfulUpTo = Math.max(this.#doubtfulUpTo, upTo);
    return true;
  }

  #keep(rows: readonly StoredChange[]): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    this.#settled = last.seq;
    this.#kept.push(...rows);
    const over = this.#kept.length - KEPT;
    if (over > 0) this.#keptAfter = this.#kept.splice(0, over).at(-1)?.seq ?? this.#keptAfter;
    this.ring();
  }
}
