import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Store } from './open-store.ts';
import type { PostgresSession, SessionConnection } from './postgres-session.ts';
import type { Database } from './schema.ts';

/** Something that takes one writer, held by this process. */
export interface Held {
  /** Aborts when it may be another's from now on: stop at once. */
  readonly signal: AbortSignal;
  /**
   * To be called in the write of what was done under it, so that one who was taken over without noticing stores nothing.
   *
   * @throws AppError `unavailable` when another has taken it over
   */
  fence(trx: Kysely<Database>): Promise<void>;
}

export type Turn<T> = { readonly granted: true; readonly value: T } | { readonly granted: false };

/** On SQLite this process has the database for itself. */
const ALONE: Held = { signal: new AbortController().signal, fence: async () => undefined };

/**
 * Does `work` while no other replica does work of that name; not granted when one does. Within this process several may:
 * they share what is held. A replica that dies lets go at once, one that vanished from the network within about 12 s.
 *
 * @throws AppError `unavailable` when the database cannot be asked; whatever `work` throws
 */
export async function withExclusive<T>(
  store: Pick<Store, 'session' | 'write'>,
  name: string,
  work: (held: Held) => Promise<T>,
): Promise<Turn<T>> {
  if (store.session === undefined) return { granted: true, value: await work(ALONE) };
  const lock = locksOf(store.session).get(name);
  const holding = await lock.take();
  if (holding === undefined) return { granted: false };
  try {
    return { granted: true, value: await work(holding) };
  } finally {
    await lock.release();
  }
}

/** Between two tries of who waits to take over. */
const TAKE_OVER_MS = 2000;

/**
 * Runs something that one replica does for all, here as soon as no other does it, until aborted. `run` is aborted when
 * another may have taken over, and is run again when it is this one's turn again.
 */
export async function runExclusive(
  deps: {
    readonly store: Pick<Store, 'session' | 'write'>;
    readonly clock: Clock;
    readonly random: () => number;
    readonly logger: Logger;
  },
  name: string,
  run: (stop: AbortSignal) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const { store, clock, random, logger } = deps;
  if (store.session === undefined) {
    await run(stop);
    return;
  }
  while (!stop.aborted) {
    try {
      await withExclusive(store, name, async (held) => {
        logger.info({ work: name }, 'this replica does the work of all');
        await run(AbortSignal.any([stop, held.signal]));
      });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      logger.warn({ err: error, work: name }, 'the database cannot be asked whose work it is; trying again');
    }
    await clock.sleep(TAKE_OVER_MS * (0.5 + random()), stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
  }
}

/** A session's locks belong to its connection, so whoever shares the session shares them. */
const LOCKS = new WeakMap<PostgresSession, Map<string, Lock>>();

function locksOf(session: PostgresSession): { get(name: string): Lock } {
  let locks = LOCKS.get(session);
  if (locks === undefined) {
    locks = new Map();
    LOCKS.set(session, locks);
  }
  const known = locks;
  return {
    get: (name) => {
      const lock = known.get(name) ?? new Lock(session, name, () => known.delete(name));
      known.set(name, lock);
      return lock;
    },
  };
}

/**
 * A name's advisory lock on the session's connection, and its row in `leases`. The lock says who may begin, and the server
 * drops it with the connection; the row's token says in a transaction who may still end.
 */
class Lock {
  readonly #session: PostgresSession;
  readonly #name: string;
  readonly #forget: () => void;
  readonly #key: string;
  /** Those of this process that have it or ask for it. */
  #users = 0;
  #holding: Promise<Holding | undefined> | undefined;

  constructor(session: PostgresSession, name: string, forget: () => void) {
    this.#session = session;
    this.#name = name;
    this.#forget = forget;
    this.#key = createHash('sha256').update(`service/${name}`).digest().readBigInt64BE().toString();
  }

  async take(): Promise<Holding | undefined> {
    this.#users += 1;
    let holding: Holding | undefined;
    try {
      holding = await this.#present();
    } finally {
      if (holding === undefined) await this.release();
    }
    return holding;
  }

  /** The last one of this process lets go. */
  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    const holding = this.#holding;
    this.#holding = undefined;
    this.#forget();
    await (await holding?.catch(() => undefined))?.letGo();
  }

  /** What is held, or is just being asked for by another of this process, unless it was lost with its connection. */
  async #present(): Promise<Holding | undefined> {
    for (;;) {
      const asked = (this.#holding ??= this.#acquire());
      let holding: Holding | undefined;
      try {
        holding = await asked;
      } finally {
        const isOfUse = holding?.signal.aborted === false;
        if (!isOfUse && this.#holding === asked) this.#holding = undefined;
      }
      if (holding === undefined || !holding.signal.aborted) return holding;
    }
  }

  async #acquire(): Promise<Holding | undefined> {
    const { connection } = this.#session;
    const [answer] = await connection.query('SELECT pg_try_advisory_lock($1::bigint) AS granted', [this.#key]);
    if (answer?.['granted'] !== true) return undefined;
    const holding = new Holding(connection, this.#name, this.#key);
    try {
      await holding.mark();
    } catch (error) {
      await holding.letGo();
      throw error;
    }
    return holding;
  }
}

class Holding implements Held {
  readonly signal: AbortSignal;
  readonly #connection: SessionConnection;
  readonly #name: string;
  readonly #key: string;
  readonly #token = randomUUID();

  constructor(connection: SessionConnection, name: string, key: string) {
    this.signal = connection.signal;
    this.#connection = connection;
    this.#name = name;
    this.#key = key;
  }

  async mark(): Promise<void> {
    await this.#connection.query(
      `INSERT INTO leases (name, token, holder, taken_at) VALUES ($1, $2, $3, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
       ON CONFLICT (name) DO UPDATE SET token = excluded.token, holder = excluded.holder, taken_at = excluded.taken_at`,
      [this.#name, this.#token, `${hostname()}/${process.pid}`],
    );
  }

  async fence(trx: Kysely<Database>): Promise<void> {
    const row = await trx
      .selectFrom('leases')
      .select('token')
      .where('name', '=', this.#name)
      .forShare()
      .executeTakeFirst();
    if (row?.token === this.#token) return;
    throw new AppError('unavailable', `another replica has taken over ${this.#name}; it does what is left`);
  }

  /** A connection that is gone has let go already. */
  async letGo(): Promise<void> {
    await Promise.allSettled([
      this.#connection.query('DELETE FROM leases WHERE name = $1 AND token = $2', [this.#name, this.#token]),
      this.#connection.query('SELECT pg_advisory_unlock($1::bigint)', [this.#key]),
    ]);
  }
}
