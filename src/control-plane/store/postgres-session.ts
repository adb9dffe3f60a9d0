import { setTimeout as delay } from 'node:timers/promises';
import { Client, type Notification } from 'pg';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Logger } from '../../runtime/logger.ts';
import { asPostgresError, unavailable } from './postgres-error.ts';
import { clientConfig } from './postgres-pool.ts';
import type { PostgresSettings } from './postgres-url.ts';

const RECONNECT = { minMs: 100, maxMs: 5000 } as const;

/** Asked this often whether the connection is there, and given so long to answer. */
const PROBE_MS = 2000;
const ANSWER_MS = 3000;

/**
 * How soon the server gives up a client that vanished without a word, and with it that client's locks: later than this
 * process gives up the server (`PROBE_MS` and `ANSWER_MS`), so a lock is never granted to another while it is believed in.
 */
const SERVER_SETTINGS = {
  tcp_keepalives_idle: 6,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 12_000,
  statement_timeout: ANSWER_MS,
  idle_in_transaction_session_timeout: ANSWER_MS,
} as const;

export interface SessionDeps {
  readonly settings: PostgresSettings;
  readonly logger: Logger;
  /** A number in [0, 1). */
  readonly random?: () => number;
}

interface Connection {
  readonly client: Client;
  readonly ended: AbortController;
  /** The driver takes one statement at a time: the end of the last one. */
  last: Promise<unknown>;
}

/** One connection while it lasts: what is asked of it is asked of no later one. */
export interface SessionConnection {
  /** Aborts when it has ended. */
  readonly signal: AbortSignal;
  /** @throws AppError `unavailable` when it has ended or does not answer */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
}

/**
 * One connection beside the pools, for what belongs to a connection and not to a transaction: notifications and locks. It
 * is made anew when it is lost; whoever relies on the present one watches its signal.
 */
export class PostgresSession implements AsyncDisposable {
  readonly #deps: SessionDeps;
  readonly #stop = new AbortController();
  readonly #onConnected = new Set<() => void>();
  readonly #onNotified = new Set<(channel: string, payload: string) => void>();
  readonly #channels = new Set<string>();
  #connection: Connection | undefined;
  #keeping: Promise<void> = Promise.resolve();

  private constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  /** @throws the driver's error when the first connection cannot be made */
  static async open(deps: SessionDeps): Promise<PostgresSession> {
    const session = new PostgresSession(deps);
    await session.#connect();
    session.#keeping = session.#keep();
    return session;
  }

  /** @throws AppError `unavailable` while there is none */
  get connection(): SessionConnection {
    const connection = this.#connection;
    if (connection === undefined) throw unavailable('the connection to the database was lost');
    const { client, ended } = connection;
    const ask = async (text: string, values: readonly unknown[]): Promise<readonly Record<string, unknown>[]> => {
      ended.signal.throwIfAborted();
      try {
        return (await client.query<Record<string, unknown>>(text, [...values])).rows;
      } catch (error) {
        throw asPostgresError(error);
      }
    };
    return {
      signal: ended.signal,
      query: async (text, values = []) => {
        const answer = connection.last.then(async () => await ask(text, values));
        connection.last = answer.catch(() => undefined);
        return await answer;
      },
    };
  }

  /** @throws AppError `unavailable` while there is no connection; a connection that does not answer is given up */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    return await this.connection.query(text, values);
  }

  /**
   * Hears what is notified on a channel from now on, also after the connection was made anew. What is notified while there
   * is none is lost: `onConnected` says when to look at everything again.
   */
  async listen(channel: string, onNotified: (payload: string) => void): Promise<void> {
    this.#channels.add(channel);
    this.#onNotified.add((notified, payload) => {
      if (notified === channel) onNotified(payload);
    });
    await this.query(`LISTEN ${channel}`);
  }

  /** Calls back at each connection but the first. */
  onConnected(listener: () => void): void {
    this.#onConnected.add(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(unavailable('the database is closing'));
    await this.#keeping;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.ended.abort(this.#stop.signal.reason);
    await connection?.client.end().catch(() => undefined);
  }

  /** Watches the connection and replaces it, until disposed. Never rejects. */
  async #keep(): Promise<void> {
    const { logger, random = Math.random } = this.#deps;
    let attempts = 0;
    while (!this.#stop.signal.aborted) {
      if (this.#connection === undefined) {
        try {
          await this.#connect();
          attempts = 0;
          logger.info('connected to the database again for wake-ups and locks');
          for (const listener of this.#onConnected) listener();
        } catch (error) {
          attempts += 1;
          logger.warn({ err: asPostgresError(error), attempts }, 'no connection for wake-ups and locks; trying again');
          await this.#pause(backoffMs(RECONNECT, attempts, random), this.#stop.signal);
        }
        continue;
      }
      await this.#pause(PROBE_MS, AbortSignal.any([this.#stop.signal, this.#connection.ended.signal]));
      await this.query('SELECT 1').catch((error: unknown) => this.#lose(this.#connection, error));
    }
  }

  async #connect(): Promise<void> {
    const { settings } = this.#deps;
    const client = new Client({ ...clientConfig(settings, SERVER_SETTINGS), query_timeout: ANSWER_MS });
    const connection: Connection = { client, ended: new AbortController(), last: Promise.resolve() };
    client.on('error', (error) => this.#lose(connection, error));
    client.on('end', () => this.#lose(connection, undefined));
    client.on('notification', ({ channel, payload = '' }: Notification) => {
      for (const notified of this.#onNotified) notified(channel, payload);
    });
    try {
      await client.connect();
      for (const channel of this.#channels) await client.query(`LISTEN ${channel}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    if (!connection.ended.signal.aborted) this.#connection = connection;
  }

  #lose(connection: Connection | undefined, error: unknown): void {
    if (connection === undefined || connection.ended.signal.aborted) return;
    if (this.#connection === connection) this.#connection = undefined;
    connection.ended.abort(unavailable('the connection to the database was lost', error));
    if (!this.#stop.signal.aborted)
      this.#deps.logger.warn({ err: error }, 'the connection for wake-ups and locks was lost');
    void connection.client.end().catch(() => undefined);
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await delay(ms, undefined, { signal }).catch(() => undefined);
  }
}
