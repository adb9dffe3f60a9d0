import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openSqlite } from '../src/control-plane/store/sqlite-connection.ts';
import { bodiesOf, EVENTS_PER_POST, ingestPost, openSeeded, POSTS, rowsOf, type BareRows } from './ingest-load.ts';

/**
 * Events ingested per second, beside what bare prepared inserts of the same rows (events, audit, current status) do in a
 * database of the same form with the same durability: WAL, synchronous FULL, one COMMIT per post. Ingest is measured with
 * all that lies behind HTTP: strict JSON, schema, deduplication, fold, audit. Rounds are interleaved, since a shared
 * machine's disk drifts. Prints one JSON object.
 */
const ROUNDS = 5;
const CONCURRENT = 8;

function insertBare(database: DatabaseSync, posts: readonly BareRows[]): void {
  const event = database.prepare(
    'INSERT INTO events (cluster_id, event_key, fingerprint, kind, resource_ref, conditions, timestamp, sequence, source, received_at) VALUES (?,?,?,?,?,?,?,?,?,?)',
  );
  const audit = database.prepare(
    'INSERT INTO audit (organization_id, at, source, kind, cluster_id, actor, summary, reason, event_seq) VALUES (?,?,?,?,?,?,?,?,?)',
  );
  const condition = database.prepare(
    'INSERT OR REPLACE INTO resource_conditions (cluster_id, uid, type, api_version, kind, namespace, name, status, reason, message, last_transition_time, generation, order_key, source, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)',
  );
  for (const rows of posts) {
    database.exec('BEGIN IMMEDIATE');
    for (const row of rows.events) event.run(...row);
    for (const row of rows.audit) audit.run(...row);
    for (const row of rows.conditions) condition.run(...row);
    database.exec('COMMIT');
  }
}

/** Measures one round and answers its events per second. */
type Lane = AsyncDisposable & { readonly run: (round: number) => Promise<number> };

async function lane(
  open: (folder: string) => Promise<AsyncDisposable & { readonly prepare: (round: number) => () => Promise<void> }>,
): Promise<Lane> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-ingest-'));
  const opened = await open(folder);
  return {
    run: async (round) => {
      const work = opened.prepare(round);
      const started = performance.now();
      await work();
      return (POSTS * EVENTS_PER_POST * 1000) / (performance.now() - started);
    },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param atOnce posts in flight, as from that many clusters */
async function ingestLane(atOnce: number): Promise<Lane> {
  return await lane(async (folder) => {
    const { store, cluster } = await openSeeded(`sqlite:${join(folder, 'bench.db')}`);
    return {
      prepare: (round) => {
        const bodies = bodiesOf(round);
        return async () => {
          for (let post = 0; post < bodies.length; post += atOnce) {
            const posts = bodies.slice(post, post + atOnce).map(async (body) => {
              await ingestPost(store, cluster, body);
            });
            await Promise.all(posts);
          }
        };
      },
      [Symbol.asyncDispose]: async () => {
        await store[Symbol.asyncDispose]();
      },
    };
  });
}

async function bareLane(): Promise<Lane> {
  return await lane(async (folder) => {
    const { store, cluster } = await openSeeded(`sqlite:${join(folder, 'bench.db')}`);
    await store[Symbol.asyncDispose]();
    const database = openSqlite(join(folder, 'bench.db'));
    return {
      prepare: (round) => {
        const posts = rowsOf(round, cluster.id);
        return async () => {
          insertBare(database, posts);
          await Promise.resolve();
        };
      },
      [Symbol.asyncDispose]: async () => {
        database.close();
        await Promise.resolve();
      },
    };
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

await using bareInserts = await bareLane();
await using oneAtATime = await ingestLane(1);
await using concurrent = await ingestLane(CONCURRENT);
const rates: { bare: number; one: number; many: number }[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  rates.push({
    bare: await bareInserts.run(round),
    one: await oneAtATime.run(round),
    many: await concurrent.run(round),
  });
}
const summary = (rate: (round: (typeof rates)[number]) => number): { eventsPerSecond: number; ratio: number } => ({
  eventsPerSecond: Math.round(median(rates.map(rate))),
  ratio: Math.round(median(rates.map((round) => rate(round) / round.bare)) * 100) / 100,
});
const report = {
  eventsPerPost: EVENTS_PER_POST,
  posts: POSTS,
  rounds: ROUNDS,
  bareInserts: summary(({ bare }) => bare),
  ingestOneAtATime: summary(({ one }) => one),
  ingestConcurrent: { postsAtOnce: CONCURRENT, ...summary(({ many }) => many) },
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
