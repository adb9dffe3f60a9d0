import { AsyncLocalStorage } from 'node:async_hooks';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import type { Database } from './schema.ts';
import { TwoLanes } from './two-lanes.ts';
import type { WriteOptions } from './open-store.ts';
import { asStoreError } from './sqlite-error.ts';

/** Writes that may wait. Beyond that a caller is told to come back instead of holding memory. */
const MAX_WAITING = 4096;

/** A group ends at this many writes or this long after its BEGIN, so that its first caller does not wait for ever. */
const MAX_GROUP = 256;
const MAX_GROUP_MS = 50;

type Work = (trx: Kysely<Database>) => Promise<unknown>;

interface Waiting {
  readonly work: Work;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Finished = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/**
 * Concurrent writes share one transaction, so durability costs one fsync a group:
 *
 * ```
 * BEGIN IMMEDIATE
 *   SAVEPOINT w  caller 1  RELEASE
 *   SAVEPOINT w  caller 2  ROLLBACK TO, RELEASE    (its own throw undoes its own work alone)
 * COMMIT                                           (only now do the callers learn of their success)
 * ```
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #trx: Kysely<Database>;
  readonly #waiting: TwoLanes<Waiting>;
  readonly #inside = new AsyncLocalStorage<true>();
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(deps: { readonly database: DatabaseSync; readonly trx: Kysely<Database>; readonly maxWaiting?: number }) {
    this.#database = deps.database;
    this.#trx = deps.trx;
    this.#waiting = new TwoLanes(deps.maxWaiting ?? MAX_WAITING);
  }

  /**
   * Runs `work` in the shared transaction and resolves after its COMMIT. `work` awaits nothing but the database: it holds
   * up every other write.
   *
   * @throws AppError `unavailable` when too many writes wait, when the disk is full or failing, or after closing
   */
  async write<T>(work: (trx: Kysely<Database>) => Promise<T>, { urgent = false }: WriteOptions = {}): Promise<T> {
    if (this.#inside.getStore() === true) throw new Error('a write inside a write would wait for itself; pass trx on');
    if (this.#closed) throw new AppError('unavailable', 'the database is closing', { retryAfterSeconds: 1 });
    if (this.#waiting.isFull(urgent)) {
      throw new AppError('unavailable', 'too many writes are waiting for the database', { retryAfterSeconds: 1 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.push({ work, resolve, reject }, urgent);
    this.#running ??= this.#run();
    return (await promise) as T;
  }

  /** How many have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Ends after the writes that were taken. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        // One turn of the event loop, so that requests that arrived together are committed together.
        await turn();
        await this.#group();
      }
    } finally {
      this.#running = undefined;
    }
  }

  async #group(): Promise<void> {
    const members: Waiting[] = [];
    const finished: Finished[] = [];
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      const endAt = performance.now() + MAX_GROUP_MS;
      while (members.length === 0 || (members.length < MAX_GROUP && performance.now() < endAt)) {
        const next = this.#waiting.shift();
        if (next === undefined) break;
        members.push(next);
        finished.push(await this.#member(next.work));
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#abandon(members, error);
      return;
    }
    for (const [index, member] of members.entries()) {
      const outcome = finished[index];
      if (outcome?.ok === true) member.resolve(outcome.value);
      else member.reject(outcome?.error);
    }
  }

  async #member(work: Work): Promise<Finished> {
    this.#database.exec('SAVEPOINT w');
    try {
      const value = await this.#inside.run(true, async () => await work(this.#trx));
      this.#database.exec('RELEASE w');
      return { ok: true, value };
    } catch (error) {
      // SQLite itself ends the whole transaction on some faults (disk full, I/O): then nobody's work is kept.
      if (!this.#database.isTransaction) throw error;
      this.#database.exec('ROLLBACK TO w');
      this.#database.exec('RELEASE w');
      return { ok: false, error: asStoreError(error) };
    }
  }

  /** The group as a whole failed: nothing of it is stored, and each caller is told so. */
  #abandon(members: readonly Waiting[], error: unknown): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    const told = asStoreError(error);
    // BEGIN itself failed: those who wait would meet the same fault, and must not wait in a busy loop.
    const failed = members.length > 0 ? members : this.#waiting.takeAll();
    for (const member of failed) member.reject(told);
  }
}
