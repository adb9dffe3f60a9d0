import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterStandings } from '../src/control-plane/http/admin/cluster-summary.ts';
import { parseLabelSelector } from '../src/control-plane/label-selector.ts';
import { listApplications } from '../src/control-plane/store/applications.ts';
import { findClusters } from '../src/control-plane/store/cluster-lists.ts';
import { countFleet } from '../src/control-plane/store/fleet-counts.ts';
import { openStore } from '../src/control-plane/store/open-store.ts';
import { searchAll } from '../src/control-plane/store/search.ts';
import { openSqlite } from '../src/control-plane/store/sqlite-connection.ts';
import { listIntents, listOperationsOf } from '../src/control-plane/store/work-lists.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { clusterId, slugOf } from '../test/support/fleet-rows.ts';
import { seedFleet } from '../test/support/seed-fleet.ts';

/**
 * Milliseconds that pages of the main lists take at 10,000 clusters and 100,000 intents on SQLite, with all that lies behind
 * HTTP, beside a bare prepared SELECT of as many of the same rows by their key in the same run. Each round reads another
 * page, and bare and ours take turns, since a shared machine's speed drifts. Prints one JSON object.
 *
 *   node bench/lists.ts [--rounds 200] [--clusters 10000] [--intents 100000]
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    clusters: { type: 'string', default: '10000' },
    intents: { type: 'string', default: '100000' },
  },
});
const [rounds, clusters, intents] = [Number(options.rounds), Number(options.clusters), Number(options.intents)];

const folder = mkdtempSync(join(tmpdir(), 'bench-lists-'));
const file = join(folder, 'bench.db');
const url = `sqlite:${file}`;
const open = async () => await openStore({ url, clock: systemClock, logger: createLogger('bench', 'silent') });
await (await open())[Symbol.asyncDispose]();
const seedStarted = performance.now();
const { organizationId } = await seedFleet(url, { clusters, intents });
const seedMs = Math.round(performance.now() - seedStarted);

await using store = await open();
const database = openSqlite(file);
const { db } = store;
const slugAt = (round: number): string => slugOf((round * 97) % clusters);
const labels = parseLabelSelector('env=prod,team in (team-1,team-2)');

interface Lane {
  readonly ours: (round: number) => Promise<unknown>;
  /** The rows alone, in the order of an index. */
  readonly bare: (round: number) => unknown;
}

const bareClusters = database.prepare(
  'SELECT * FROM clusters WHERE organization_id = ? AND slug > ? ORDER BY slug LIMIT ?',
);
const bareApplications = database.prepare(
  'SELECT * FROM applications WHERE organization_id = ? AND (cluster_id, namespace, name) > (?, ?, ?) ORDER BY cluster_id, namespace, name LIMIT 50',
);
const bareIntents = database.prepare(
  'SELECT * FROM intents WHERE organization_id = ? AND accepted_at < ? ORDER BY accepted_at DESC, id DESC LIMIT 50',
);
const timeAt = (round: number): string =>
  new Date(Date.parse('2026-11-28T12:00:00.000Z') - ((round * 353) % intents) * 1000).toISOString();

const LANES: Readonly<Record<string, Lane>> = {
  clusters500: {
    ours: async (round) => {
      const rows = await findClusters(db, { organizationId }, { limit: 501, after: slugAt(round) });
      const standingOf = await clusterStandings(db, rows.slice(0, 500));
      return rows.slice(0, 500).map(standingOf);
    },
    bare: (round) => bareClusters.all(organizationId, slugAt(round), 500),
  },
  clustersByLabel50: {
    ours: async (round) => await findClusters(db, { organizationId, labels }, { limit: 51, after: slugAt(round) }),
    bare: (round) => bareClusters.all(organizationId, slugAt(round), 50),
  },
  clustersDegraded50: {
    ours: async (round) =>
      await findClusters(db, { organizationId, health: 'degraded' }, { limit: 51, after: slugAt(round) }),
    bare: (round) => bareClusters.all(organizationId, slugAt(round), 50),
  },
  applications50: {
    ours: async (round) => {
      const after = [clusterId('default', (round * 89) % clusters), 'shop', 'redis-1'] as const;
      return await listApplications(db, { organizationId }, { limit: 51, after });
    },
    bare: (round) =>
      bareApplications.all(organizationId, clusterId('default', (round * 89) % clusters), 'shop', 'redis-1'),
  },
  intents50: {
    ours: async (round) => await listIntents(db, { organizationId }, { limit: 51, before: [timeAt(round), ''] }),
    bare: (round) => bareIntents.all(organizationId, timeAt(round)),
  },
  operations50: {
    ours: async (round) =>
      await listOperationsOf(db, { organizationId }, { limit: 51, before: [timeAt(round % 14), ''] }),
    bare: (round) => bareIntents.all(organizationId, timeAt(round)),
  },
  search: {
    ours: async (round) => await searchAll(db, { organizationId, text: slugAt(round).slice(0, 11), limit: 50 }),
    bare: (round) => bareClusters.all(organizationId, slugAt(round), 50),
  },
  fleet: {
    ours: async () => await countFleet(db, { organizationId }, undefined),
    bare: (round) => bareClusters.all(organizationId, slugAt(round), 500),
  },
};

const report: Record<string, unknown> = {};
for (const [name, { ours, bare }] of Object.entries(LANES)) {
  const [oursMs, bareMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await ours(round);
    const between = performance.now();
    bare(round);
    oursMs.push(between - started);
    bareMs.push(performance.now() - between);
  }
  report[name] = { ours: quantiles(oursMs), bare: quantiles(bareMs) };
}
process.stdout.write(`${JSON.stringify({ clusters, intents, rounds, seedMs, milliseconds: report }, null, 2)}\n`);
database.close();
rmSync(folder, { recursive: true, force: true });

function quantiles(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => Math.round((sorted[Math.floor(share * sorted.length)] ?? 0) * 100) / 100;
  return { p50: at(0.5), p99: at(0.99) };
}
