import { Client } from 'pg';
import { PostgresServer } from '../test/support/postgres/postgres-server.ts';
import { bodiesOf, EVENTS_PER_POST, ingestPost, openSeeded, POSTS, rowsOf, type BareRows } from './ingest-load.ts';

/**
 * Events ingested per second into PostgreSQL, beside what bare prepared inserts of the same rows do in the same database:
 * a named statement for each table with all rows of a post, one transaction a post, as many connections as posts are in
 * flight. Ingest is measured with all that lies behind HTTP and in SERIALIZABLE transactions. The server is a real one of
 * its own; its fsync is off, so that programs are compared and not a disk. Rounds are interleaved. Prints one JSON object.
 */
const ROUNDS = 5;
const CONCURRENT = 8;

const COLUMNS = {
  events:
    'cluster_id, event_key, fingerprint, kind, resource_ref, conditions, timestamp, sequence, source, received_at',
  audit: 'organization_id, at, source, kind, cluster_id, actor, summary, reason, event_seq',
  resource_conditions:
    'cluster_id, uid, type, api_version, kind, namespace, name, status, reason, message, last_transition_time, generation, order_key, source, updated_at',
} as const;

type Rows = readonly (readonly (string | number | null)[])[];

async function insertRows(client: Client, table: keyof typeof COLUMNS, rows: Rows): Promise<void> {
  const width = COLUMNS[table].split(',').length;
  const places = rows.map(
    (_, row) => `(${Array.from({ length: width }, (_, n) => `$${row * width + n + 1}`).join(',')})`,
  );
  const replace =
    table === 'resource_conditions'
      ? `ON CONFLICT (cluster_id, uid, type) DO UPDATE SET ${COLUMNS[table]
          .split(', ')
          .slice(3)
          .map((column) => `${column} = excluded.${column}`)
          .join(', ')}`
      : '';
  const text = `INSERT INTO ${table} (${COLUMNS[table]}) VALUES ${places.join(',')} ${replace}`;
  await client.query({ name: `${table}/${rows.length}`, text, values: rows.flat() });
}

async function insertPost(client: Client, rows: BareRows): Promise<void> {
  await client.query('BEGIN');
  await insertRows(client, 'events', rows.events);
  await insertRows(client, 'audit', rows.audit);
  await insertRows(client, 'resource_conditions', rows.conditions);
  await client.query('COMMIT');
}

/** Runs `work` on each item, `atOnce` at a time; answers events per second. */
async function measure<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, lane: number) => Promise<void>,
): Promise<number> {
  const waiting = [...items];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async (_, lane) => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item, lane);
    }),
  );
  return (POSTS * EVENTS_PER_POST * 1000) / (performance.now() - started);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

await using stack = new AsyncDisposableStack();
const server = stack.use(await PostgresServer.start());
const bareUrl = await server.createDatabase();
const ingestUrl = await server.createDatabase();
const bare = await openSeeded(bareUrl, CONCURRENT);
stack.use(bare.store);
const { store, clusters } = await openSeeded(ingestUrl, CONCURRENT);
stack.use(store);
const clients = await Promise.all(
  Array.from({ length: CONCURRENT }, async () => {
    const client = new Client({ connectionString: bareUrl });
    await client.connect();
    stack.defer(async () => await client.end());
    return client;
  }),
);

const rates: { bareOne: number; bareMany: number; one: number; many: number }[] = [];
for (let round = 0; round < ROUNDS * 2; round += 2) {
  // Each lane posts for a cluster of its own, as operators do.
  const insert = async (post: number, lane: number): Promise<void> => {
    const client = clients[lane];
    const rows = bareRows[lane]?.[post];
    if (client !== undefined && rows !== undefined) await insertPost(client, rows);
  };
  const ingest = async (body: Buffer, lane: number): Promise<void> => {
    const cluster = clusters[lane];
    if (cluster !== undefined) await ingestPost(store, cluster, body);
  };
  const bareRows = bare.clusters.map(({ id }) => [...rowsOf(round, id), ...rowsOf(round + 1, id)]);
  const posts = Array.from({ length: POSTS }, (_, post) => post);
  rates.push({
    bareOne: await measure(posts, 1, insert),
    one: await measure(bodiesOf(round), 1, ingest),
    bareMany: await measure(
      posts.map((post) => POSTS + post),
      CONCURRENT,
      insert,
    ),
    many: await measure(bodiesOf(round + 1), CONCURRENT, ingest),
  });
}
const perSecond = (rate: (round: (typeof rates)[number]) => number): number => Math.round(median(rates.map(rate)));
const ratio = (rate: (round: (typeof rates)[number]) => number): number =>
  Math.round(median(rates.map(rate)) * 100) / 100;
const report = {
  eventsPerPost: EVENTS_PER_POST,
  posts: POSTS,
  rounds: ROUNDS,
  oneAtATime: {
    bareInserts: perSecond(({ bareOne }) => bareOne),
    ingest: perSecond(({ one }) => one),
    ratio: ratio(({ one, bareOne }) => one / bareOne),
  },
  concurrent: {
    postsAtOnce: CONCURRENT,
    bareInserts: perSecond(({ bareMany }) => bareMany),
    ingest: perSecond(({ many }) => many),
    ratio: ratio(({ many, bareMany }) => many / bareMany),
  },
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
