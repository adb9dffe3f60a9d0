import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { acknowledgeJob, recordJobResult, recordJobStatus } from '../src/control-plane/jobs/settle-job.ts';
import { openStore, type Store } from '../src/control-plane/store/open-store.ts';
import { openSqlite } from '../src/control-plane/store/sqlite-connection.ts';
import { JobResult, JobStatus } from '../src/protocol/job.ts';
import { compileParser } from '../src/protocol/parse.ts';
import { parseStrictJson } from '../src/protocol/strict-json.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';

/**
 * Jobs taken through ack, status and result per second, with all that lies behind HTTP (strict JSON, schema, whose job it
 * is, the job's state, its intent's), beside bare prepared updates of the same rows in a database of the same form with the
 * same durability, a COMMIT each. Rounds are interleaved, since a shared machine's disk drifts. Prints one JSON object.
 */
const JOBS = 400;
const ROUNDS = 5;
const CONCURRENT = 8;

const parseStatus = compileParser(JobStatus);
const parseResult = compileParser(JobResult);

const STATUS = Buffer.from(
  JSON.stringify({
    phase: 'Reconciling',
    conditions: [
      { type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling', message: 'installing podinfo' },
    ],
    timestamp: '2026-11-28T12:00:00.000Z',
  }),
);
const RESULT = Buffer.from(
  JSON.stringify({
    outcome: 'succeeded',
    appliedRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
      uid: '0b0ce2a1-9d3f-4c55-8e7a-000000000001',
      generation: 1,
    },
    timestamp: '2026-11-28T12:00:01.000Z',
  }),
);

/** A database with jobs that were handed out, `JOBS` for each round. */
async function openSeeded(folder: string): Promise<Store> {
  const store = await openStore({
    url: `sqlite:${join(folder, 'bench.db')}`,
    clock: systemClock,
    logger: createLogger('bench', 'silent'),
  });
  const at = systemClock.now().toISOString();
  await store.write(async (trx) => {
    const organization = { id: 'org', name: 'org', created_at: at, settings: null, recovery_public_key: null };
    await trx.insertInto('organizations').values(organization).execute();
    await trx
      .insertInto('clusters')
      .values({
        id: 'c-bench',
        organization_id: 'org',
        slug: 'bench',
        display_name: 'bench',
        status: 'Active',
        connectivity_mode: 'pull',
        delivery_epoch: 1,
        config_revision: 1,
        allowed_namespaces: '[]',
        allowed_catalog_entries: '[]',
        allowed_operation_templates: '[]',
        security: '{}',
        intervals: '{}',
        deliver_intents: 0,
        created_at: at,
      } as never)
      .execute();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let number = 0; number < JOBS; number += 1) {
        const id = idOf(round, number);
        const about = {
          namespace: 'shop',
          name: `app-${round}-${number}`,
          target_kind: 'ApplicationInstance',
          generation: 1,
        };
        const record = { ...about, id: `int-${id}`, idempotency_key: id, cluster_id: 'c-bench' };
        await trx
          .insertInto('intents')
          .values({
            ...record,
            organization_id: 'org',
            action: 'install',
            record: '{}',
            state: 'delivered',
            requested_by: 'bench',
            accepted_at: at,
            delivered_at: at,
          } as never)
          .execute();
        await trx
          .insertInto('jobs')
          .values({
            ...record,
            id,
            intent_id: record.id,
            kind: 'apply',
            delivery_epoch: 1,
            payload: '{}',
            state: 'delivered',
            created_at: at,
            delivered_at: at,
            expires_at: '2099-01-01T00:00:00.000Z',
          } as never)
          .execute();
      }
    }
  });
  return store;
}

function idOf(round: number, number: number): string {
  return `job-${round}-${number}`;
}

async function settle(store: Store, id: string): Promise<void> {
  const whose = async (): Promise<unknown> =>
    await store.db.selectFrom('jobs').select('cluster_id').where('id', '=', id).executeTakeFirst();
  await whose();
  await store.write(async (trx) => await acknowledgeJob(trx, id, systemClock.now().toISOString()));
  const status = parseStatus(parseStrictJson(STATUS));
  await whose();
  await store.write(async (trx) => await recordJobStatus(trx, id, status, systemClock.now()));
  const result = parseResult(parseStrictJson(RESULT));
  await whose();
  await store.write(async (trx) => await recordJobResult(trx, id, result, systemClock.now()));
}

/** What any program would have to write for the three, and nothing else. */
function settleBare(database: DatabaseSync, ids: readonly string[]): void {
  const ack = database.prepare("UPDATE jobs SET state = 'acknowledged', acknowledged_at = ? WHERE id = ?");
  const status = database.prepare('UPDATE jobs SET phase = ?, status_conditions = ?, status_at = ? WHERE id = ?');
  const applied = database.prepare("UPDATE intents SET state = 'applied', applied_at = ? WHERE id = ?");
  const result = database.prepare(
    "UPDATE jobs SET state = 'closed', outcome = 'succeeded', applied_ref = ?, closed_at = ? WHERE id = ?",
  );
  const ready = database.prepare("UPDATE intents SET state = 'ready', ready_at = ? WHERE id = ?");
  const at = systemClock.now().toISOString();
  for (const id of ids) {
    database.exec('BEGIN IMMEDIATE');
    ack.run(at, id);
    database.exec('COMMIT');
    database.exec('BEGIN IMMEDIATE');
    status.run('Reconciling', STATUS.toString(), at, id);
    applied.run(at, `int-${id}`);
    database.exec('COMMIT');
    database.exec('BEGIN IMMEDIATE');
    result.run(RESULT.toString(), at, id);
    ready.run(at, `int-${id}`);
    database.exec('COMMIT');
  }
}

type Lane = AsyncDisposable & { readonly run: (round: number) => Promise<number> };

async function lane(
  open: (folder: string) => Promise<AsyncDisposable & { work(ids: readonly string[]): Promise<void> }>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-jobs-'));
  const opened = await open(folder);
  const made: Lane = {
    run: async (round) => {
      const ids = Array.from({ length: JOBS }, (_, number) => idOf(round, number));
      const started = performance.now();
      await opened.work(ids);
      return (JOBS * 1000) / (performance.now() - started);
    },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return made;
}

async function ours(atOnce: number): Promise<Lane> {
  return await lane(async (folder) => {
    const store = await openSeeded(folder);
    return {
      work: async (ids) => {
        const rest = ids.values();
        const worker = async (): Promise<void> => {
          for (const id of rest) await settle(store, id);
        };
        await Promise.all(Array.from({ length: atOnce }, worker));
      },
      [Symbol.asyncDispose]: async () => await store[Symbol.asyncDispose](),
    };
  });
}

async function bare(): Promise<Lane> {
  return await lane(async (folder) => {
    await (await openSeeded(folder))[Symbol.asyncDispose]();
    const database = openSqlite(join(folder, 'bench.db'));
    return {
      work: async (ids) => {
        settleBare(database, ids);
        await Promise.resolve();
      },
      [Symbol.asyncDispose]: async () => {
        database.close();
        await Promise.resolve();
      },
    };
  });
}

await using bareUpdates = await bare();
await using oneAtATime = await ours(1);
await using concurrent = await ours(CONCURRENT);
const rates: { bare: number; one: number; many: number }[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  rates.push({
    bare: await bareUpdates.run(round),
    one: await oneAtATime.run(round),
    many: await concurrent.run(round),
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const summary = (rate: (round: (typeof rates)[number]) => number): { jobsPerSecond: number; ratio: number } => ({
  jobsPerSecond: Math.round(median(rates.map(rate))),
  ratio: Math.round(median(rates.map((round) => rate(round) / round.bare)) * 100) / 100,
});
const report = {
  jobs: JOBS,
  rounds: ROUNDS,
  bareUpdates: summary(({ bare }) => bare),
  oneAtATime: summary(({ one }) => one),
  concurrent: { jobsAtOnce: CONCURRENT, ...summary(({ many }) => many) },
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
