import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { insertPendingCluster } from '../src/control-plane/store/clusters.ts';
import { eventIngestStore } from '../src/control-plane/store/event-ingest-store.ts';
import { openStore, type Store } from '../src/control-plane/store/open-store.ts';
import { openSqlite } from '../src/control-plane/store/sqlite-connection.ts';
import type { ClusterRow } from '../src/control-plane/store/schema.ts';
import { checkEvents } from '../src/events/ingest/check-events.ts';
import { foldEvents } from '../src/events/ingest/fold-events.ts';
import { ingestEvents } from '../src/events/ingest/ingest-events.ts';
import { EventsRequest, type AgentEvent } from '../src/protocol/event.ts';
import { conditionTransitionKey, eventFingerprint } from '../src/protocol/event-key.ts';
import { compileParser } from '../src/protocol/parse.ts';
import { parseStrictJson } from '../src/protocol/strict-json.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';

/**
 * Events ingested per second, beside what bare prepared inserts of the same rows (events, audit, current status) do in a
 * database of the same form with the same durability: WAL, synchronous FULL, one COMMIT per post. Ingest is measured with
 * all that lies behind HTTP: strict JSON, schema, deduplication, fold, audit. Rounds are interleaved, since a shared
 * machine's disk drifts. Prints one JSON object.
 */
const POSTS = 200;
const EVENTS_PER_POST = 100;
const RESOURCES = 500;
const ROUNDS = 5;
const CONCURRENT = 8;
/** Of all transitions, how many are high-signal and so become audit entries. */
const AUDITED = 0.1;

const parseBody = compileParser(EventsRequest);

function eventOf(round: number, number: number): AgentEvent {
  const audited = number % Math.round(1 / AUDITED) === 0;
  const resourceRef = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: `app-${number % RESOURCES}`,
    uid: `0b0ce2a1-9d3f-4c55-8e7a-${String(number % RESOURCES).padStart(12, '0')}`,
    generation: round * 1000 + Math.floor(number / RESOURCES),
  };
  const condition = {
    type: audited ? 'Succeeded' : 'Ready',
    status: 'True',
    reason: 'HelmReleaseReady',
    message: 'Helm install succeeded for release shop/podinfo.v1 with chart podinfo@6.5.0',
    lastTransitionTime: new Date(Date.UTC(2026, 2, 1) + number * 1000).toISOString(),
    observedGeneration: resourceRef.generation,
  } as const;
  return {
    eventKey: conditionTransitionKey(resourceRef, condition),
    kind: 'ConditionTransition',
    resourceRef,
    conditions: [condition],
    timestamp: condition.lastTransitionTime,
    sequence: `${round + 1}.${number + 1}`,
    source: { mode: 'gitops', epoch: 1, revision: 'a'.repeat(40), generation: 1 },
  };
}

function bodiesOf(round: number): Buffer[] {
  return Array.from({ length: POSTS }, (_, post) => {
    const events = Array.from({ length: EVENTS_PER_POST }, (_, index) =>
      eventOf(round, post * EVENTS_PER_POST + index),
    );
    return Buffer.from(JSON.stringify({ events }));
  });
}

/** The whole way of a post behind HTTP: strict JSON, schema, checks, record, fold, audit, COMMIT. */
async function ingestPost(store: Store, cluster: ClusterRow, body: Buffer): Promise<void> {
  const { events } = parseBody(parseStrictJson(body));
  checkEvents(events);
  await store.write(async (trx) => {
    const ingest = eventIngestStore(trx, cluster, systemClock.now().toISOString());
    await ingestEvents({ store: ingest, deliveryEpoch: 1, events });
  });
}

interface BareRows {
  readonly events: readonly (string | null)[][];
  readonly audit: readonly (string | null)[][];
  readonly conditions: readonly (string | number | null)[][];
}

/** The rows that ingest writes, made beforehand so that only the inserting is measured. */
function rowsOf(round: number, clusterId: string): BareRows[] {
  const at = systemClock.now().toISOString();
  return Array.from({ length: POSTS }, (_, post) => {
    const events = Array.from({ length: EVENTS_PER_POST }, (_, index) =>
      eventOf(round, post * EVENTS_PER_POST + index),
    );
    return {
      events: events.map((event) =>
        [
          [clusterId, event.eventKey, eventFingerprint(event), event.kind, JSON.stringify(event.resourceRef)],
          [JSON.stringify(event.conditions), event.timestamp ?? null, event.sequence ?? null],
          [JSON.stringify(event.source), at],
        ].flat(),
      ),
      audit: events
        .filter(({ conditions: [condition] }) => condition?.type === 'Succeeded')
        .map(({ kind }) => [
          'org',
          at,
          'agent',
          kind,
          clusterId,
          null,
          'Succeeded (HelmReleaseReady): Helm install succeeded',
          'HelmReleaseReady',
          null,
        ]),
      conditions: foldEvents(events).map(({ uid, event: { resourceRef, source }, condition, orderKey }) =>
        [
          [clusterId, uid, condition.type, resourceRef.apiVersion, resourceRef.kind, resourceRef.namespace ?? ''],
          [resourceRef.name, condition.status, condition.reason ?? null, condition.message ?? null],
          [condition.lastTransitionTime ?? null, resourceRef.generation ?? null, orderKey],
          [JSON.stringify(source), at],
        ].flat(),
      ),
    };
  });
}

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

async function openSeeded(folder: string): Promise<{ store: Store; cluster: ClusterRow }> {
  const store = await openStore({
    url: `sqlite:${join(folder, 'bench.db')}`,
    clock: systemClock,
    logger: createLogger('bench', 'silent'),
  });
  const cluster = await store.write(async (trx) => {
    await trx.insertInto('organizations').values({ id: 'org', name: 'org', created_at: '' }).execute();
    return await insertPendingCluster(trx, {
      id: `c-${randomBytes(8).toString('hex')}`,
      organization_id: 'org',
      slug: 'bench',
      display_name: 'bench',
      connectivity_mode: 'gitops',
      allowed_namespaces: '[]',
      allowed_catalog_entries: '[]',
      allowed_operation_templates: '[]',
      security: '{}',
      intervals: '{}',
      repository_id: null,
      git_directory: null,
      created_at: '',
    });
  });
  return { store, cluster };
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
    const { store, cluster } = await openSeeded(folder);
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
    const { store, cluster } = await openSeeded(folder);
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
