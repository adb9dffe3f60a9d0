import { Pool, TypeOverrides, types, type ClientConfig, type PoolClient, type QueryResult } from 'pg';
import type { PostgresPool as KyselyPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Logger } from '../../runtime/logger.ts';
import { asPostgresError, endsConnection, unavailable } from './postgres-error.ts';
import type { PostgresSettings } from './postgres-url.ts';
import { StatementNames } from './statement-names.ts';

/** The driver gives up a little after the server should have: then it is the connection that is dead. */
const ANSWER_MARGIN_MS = 5000;
const IDLE_MS = 60_000;

/** What each connection of this process is opened with. `settings` are of the server's session (`SET`). */
export function clientConfig(
  settings: PostgresSettings,
  session: Readonly<Record<string, string | number>>,
): ClientConfig {
  const options = Object.entries(session).map(([name, value]) => `-c ${name}=${value}`);
  return {
    host: settings.host,
    port: settings.port,
    user: settings.user,
    database: settings.database,
    ...(settings.password === undefined ? {} : { password: settings.password.expose() }),
    ssl: settings.tls,
    application_name: settings.applicationName,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: TYPES,
    options: options.join(' '),
  };
}

/** The limits that keep one statement or transaction from holding up the others. */
export function sessionLimits(settings: PostgresSettings): Record<string, number> {
  return {
    statement_timeout: settings.statementTimeoutMs,
    lock_timeout: settings.lockTimeoutMs,
    idle_in_transaction_session_timeout: settings.idleInTransactionTimeoutMs,
  };
}

/** Whole numbers are numbers here, as they are in SQLite. One that a double cannot hold is a fault, never rounded. */
const TYPES = new TypeOverrides();
for (const type of [types.builtins.INT8, types.builtins.NUMERIC]) TYPES.setTypeParser(type, parseNumber);

function parseNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError('a number of the database is larger than this program can hold exactly');
  }
  return value;
}

/**
 * Connections for Kysely's dialect. Faults come in the program's words, a connection that met one that ends it is not
 * given out again, and a new one takes its place when it is next needed: so it recovers by itself.
 */
export class PostgresPool implements KyselyPool {
  /** Kysely reads connection options from here for a second connection, which nothing here asks for. */
  readonly options = {};
  readonly #pool: Pool;
  readonly #names = new StatementNames();

  constructor(deps: {
    readonly settings: PostgresSettings;
    readonly max: number;
    readonly session: Readonly<Record<string, string | number>>;
    readonly logger: Logger;
  }) {
    const { settings, session, logger } = deps;
    this.#pool = new Pool({
      ...clientConfig(settings, { ...sessionLimits(settings), ...session }),
      query_timeout: settings.statementTimeoutMs + ANSWER_MARGIN_MS,
      max: deps.max,
      idleTimeoutMillis: IDLE_MS,
    });
    // An idle connection that ended. The pool has dropped it already.
    this.#pool.on('error', (error) => {
      logger.warn({ err: error }, 'a connection to the database was lost');
    });
  }

  /** @throws AppError `unavailable` */
  async connect(): Promise<PostgresPoolClient> {
    try {
      return new GuardedClient(await this.#pool.connect(), this.#names);
    } catch (error) {
      throw asPostgresError(error);
    }
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}

class GuardedClient implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  #ended = false;
  /** The driver takes one statement at a time. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #onError = (): void => {
    this.#ended = true;
  };

  constructor(client: PoolClient, names: StatementNames) {
    this.#client = client;
    this.#names = names;
    // Between two statements of a transaction nobody else listens, and an error that nobody listens to ends the process.
    client.on('error', this.#onError);
  }

  query<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query(cursor: unknown): never;
  query<R>(text: unknown, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (typeof text !== 'string') throw new Error('cursors are not used here');
    const answer = this.#last.then(async () => await this.#query<R>(text, parameters));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  release(destroy?: boolean): void {
    this.#client.off('error', this.#onError);
    this.#client.release(destroy === true || this.#ended);
  }

  async #query<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    if (this.#ended) throw unavailable('the connection to the database was lost; nothing was stored, try again');
    try {
      // Without parameters it is sent as it is: more than one statement may be in it, and none is worth a name.
      const name = parameters.length === 0 ? undefined : this.#names.nameOf(text);
      const query = { text, values: parameters.map(storable), ...(name === undefined ? {} : { name }) };
      const result: QueryResult<never> = await this.#client.query(query);
      return result as unknown as PostgresQueryResult<R>;
    } catch (error) {
      if (endsConnection(error)) this.#ended = true;
      throw asPostgresError(error);
    }
  }
}

/** PostgreSQL has no NUL in its texts, JSON has: it is kept as the character that stands for what cannot be shown. */
function storable(value: unknown): unknown {
  return typeof value === 'string' && value.includes('\u0000') ? value.replaceAll('\u0000', '\uFFFD') : value;
}
