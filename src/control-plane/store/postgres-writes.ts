import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, type Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { isPostgresUniqueViolation, isSerializationFailure } from './postgres-error.ts';
import type { WriteOptions } from './open-store.ts';
import type { Database } from './schema.ts';
import { TwoLanes } from './two-lanes.ts';

/** Writes that may wait. Beyond that a caller is told to come back instead of holding memory. */
const MAX_WAITING = 4096;

/** Tries beside others, and then tries while nobody else writes. */
const MAX_BESIDE = 5;
const MAX_ALONE = 2;

const RETRY = { minMs: 2, maxMs: 100 } as const;

/** Everybody who writes holds the gate together; who was pushed aside too often holds it alone. */
const BEGIN = 'BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE schema_migrations IN ROW SHARE MODE';
const BEGIN_ALONE = 'BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE schema_migrations IN EXCLUSIVE MODE';

type Work<T> = (trx: Kysely<Database>) => Promise<T>;

/** COMMIT was sent and no answer came: it may have been stored. */
export class UnknownOutcome extends AppError {
  constructor(cause: unknown) {
    super(
      'unavailable',
      'the database was lost while it stored this; look whether it is there before you send it again',
      { cause, retryAfterSeconds: 5 },
    );
    this.name = 'UnknownOutcome';
  }
}

/**
 * Writes as if one ran after the other, over all replicas, as they do on SQLite: SERIALIZABLE, and whoever loses a race
 * does its work again from the beginning.
 *
 * ```
 * BEGIN SERIALIZABLE, gate shared ─► work ─► COMMIT ─► done
 *        ▲                            │        │
 *        └── backoff ◄── lost a race ─┴────────┘      5 times, then with the gate alone: nobody is left to lose to
 * ```
 *
 * LOCK TABLE takes no snapshot, so what is read after it is as new as the lock.
 */
export class PostgresWrites {
  readonly #db: Kysely<Database>;
  readonly #maxActive: number;
  readonly #random: () => number;
  readonly #inside = new AsyncLocalStorage<true>();
  readonly #waiting = new TwoLanes<() => void>(MAX_WAITING);
  #active = 0;
  #closed = false;
  #idle = Promise.withResolvers<void>();

  /** @param deps.maxActive writes at once, each on a connection of its own; the pool of `db` has as many */
  constructor(deps: { readonly db: Kysely<Database>; readonly maxActive: number; readonly random: () => number }) {
    this.#db = deps.db;
    this.#maxActive = deps.maxActive;
    this.#random = deps.random;
  }

  /**
   * @throws AppError `unavailable` when too many writes wait, when the database is gone, or after closing; whatever `work`
   *   threw
   */
  async write<T>(work: Work<T>, { urgent = false }: WriteOptions = {}): Promise<T> {
    if (this.#inside.getStore() === true) throw new Error('a write inside a write would wait for itself; pass trx on');
    await this.#enter(urgent);
    try {
      return await this.#tries(work);
    } finally {
      this.#leave();
    }
  }

  /** How many have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Ends after the writes that were taken. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#active > 0) await this.#idle.promise;
  }

  async #enter(urgent: boolean): Promise<void> {
    if (this.#closed) throw new AppError('unavailable', 'the database is closing', { retryAfterSeconds: 1 });
    if (this.#waiting.isFull(urgent)) {
      throw new AppError('unavailable', 'too many writes are waiting for the database', { retryAfterSeconds: 1 });
    }
    if (this.#active >= this.#maxActive) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve, urgent);
      });
      return;
    }
    this.#active += 1;
  }

  /** Hands the place on to the next. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#active -= 1;
    if (this.#active === 0 && this.#closed) this.#idle.resolve();
  }

  async #tries<T>(work: Work<T>): Promise<T> {
    let lost = 0;
    let cut = false;
    let violated = false;
    for (;;) {
      const alone = lost >= MAX_BESIDE || violated;
      try {
        return await this.#attempt(work, alone ? BEGIN_ALONE : BEGIN);
      } catch (error) {
        if (isSerializationFailure(error) && lost < MAX_BESIDE + MAX_ALONE) {
          lost += 1;
          await delay(backoffMs(RETRY, lost, this.#random));
        } else if (isPostgresUniqueViolation(error) && !violated) {
          // Somebody else's row may have come after this one looked; seen from the beginning it is there.
          violated = true;
        } else if (error instanceof LostConnection && !cut) {
          // Nothing was committed. One try more, for a connection that had died while it was idle.
          cut = true;
        } else {
          throw error instanceof LostConnection ? error.cause : error;
        }
      }
    }
  }

  async #attempt<T>(work: Work<T>, begin: string): Promise<T> {
    return await this.#db.connection().execute(async (trx) => {
      await run(trx, begin).catch(throwIfLost);
      let value: T;
      try {
        value = await this.#inside.run(true, async () => await work(trx));
      } catch (error) {
        const rolledBack = await run(trx, 'ROLLBACK').then(
          () => true,
          () => false,
        );
        if (!rolledBack && isUnavailable(error)) throw new LostConnection(error);
        throw error;
      }
      await commit(trx);
      return value;
    });
  }
}

/** The connection ended before COMMIT was sent, so nothing is stored. */
class LostConnection extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost in a transaction', { cause });
    this.name = 'LostConnection';
  }
}

async function commit(trx: Kysely<Database>): Promise<void> {
  let answer: { readonly rows: readonly unknown[] };
  try {
    answer = await run(trx, 'COMMIT');
  } catch (error) {
    if (!isUnavailable(error) || isSerializationFailure(error)) throw error;
    throw new UnknownOutcome(error);
  }
  const [tag] = answer.rows as readonly { readonly command?: string }[];
  // `work` went on after a statement that failed: PostgreSQL keeps nothing of such a transaction.
  if (tag?.command === 'ROLLBACK') {
    throw new Error('a write went on after a statement of it had failed; nothing of it was stored');
  }
}

async function run(trx: Kysely<Database>, statement: string): Promise<{ readonly rows: readonly unknown[] }> {
  return await trx.executeQuery(CompiledQuery.raw(statement));
}

function throwIfLost(error: unknown): never {
  throw isUnavailable(error) ? new LostConnection(error) : error;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable';
}
