import { Kysely, PostgresDialect, sql } from 'kysely';
import type { Store, StoreDeps } from './open-store.ts';
import { migratePostgres } from './postgres-migrate.ts';
import { PostgresPool } from './postgres-pool.ts';
import { PostgresSession } from './postgres-session.ts';
import { startFault } from './postgres-start-fault.ts';
import { readPostgresUrl, type PostgresSettings } from './postgres-url.ts';
import { PostgresWrites } from './postgres-writes.ts';
import type { Database } from './schema.ts';

/** Of the connections that are neither for wake-ups nor for locks, this share is for writes. */
const WRITING = 0.4;

/**
 * Connects, migrates the database forward, and leaves it open to other replicas.
 *
 * @throws Error with one line that says what to do, without the password
 */
export async function openPostgresStore(deps: StoreDeps): Promise<Store> {
  const { logger } = deps;
  const settings = settingsOf(deps.url);
  await using opened = new AsyncDisposableStack();
  const forOthers = settings.maxConnections - 1;
  const maxWrites = Math.max(1, Math.floor(forOthers * WRITING));
  const open = (max: number, session: Readonly<Record<string, string | number>>): Kysely<Database> => {
    const pool = opened.adopt(new PostgresPool({ settings, max, session, logger }), async (owned) => await owned.end());
    return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  };
  // A table that is read whole conflicts with everybody who writes into it: an index is taken where there is one.
  const writing = open(maxWrites, { enable_seqscan: 'off' });
  const db = open(forOthers - maxWrites, { default_transaction_read_only: 'on' });
  let session;
  try {
    await migratePostgres({ db: writing, clock: deps.clock, logger });
    session = opened.use(await PostgresSession.open({ settings, logger }));
  } catch (error) {
    throw startFault(error, settings);
  }
  const writes = new PostgresWrites({ db: writing, maxActive: maxWrites, random: deps.random ?? Math.random });
  const held = opened.move();
  return {
    db,
    session,
    write: async (work, options) => await writes.write(work, options),
    writesWaiting: () => writes.waiting,
    ping: async () => {
      await sql`SELECT 1`.execute(db);
    },
    [Symbol.asyncDispose]: async () => {
      await writes.close();
      await held.disposeAsync();
    },
  };
}

function settingsOf(url: string): PostgresSettings {
  try {
    return readPostgresUrl(url);
  } catch (error) {
    throw new Error(`SERVICE_DATABASE_URL: ${error instanceof Error ? error.message : 'is malformed'}`, {
      cause: error,
    });
  }
}
