import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { clusterStandings } from '../../../src/control-plane/http/admin/cluster-summary.ts';
import { parseLabelSelector } from '../../../src/control-plane/label-selector.ts';
import { listApplications } from '../../../src/control-plane/store/applications.ts';
import { CLUSTER_HEALTHS } from '../../../src/control-plane/store/cluster-health.ts';
import { findClusters } from '../../../src/control-plane/store/cluster-lists.ts';
import { countFleet, countUndecided, countWaiting } from '../../../src/control-plane/store/fleet-counts.ts';
import type { Database } from '../../../src/control-plane/store/schema.ts';
import { searchAll } from '../../../src/control-plane/store/search.ts';
import { SEARCH_KINDS } from '../../../src/control-plane/store/search-row.ts';
import { listIntents, listJobs, listOperationsOf } from '../../../src/control-plane/store/work-lists.ts';
import { clusterId, commitOf, slugOf } from '../../support/fleet-rows.ts';
import { QueryWatch } from '../../support/query-watch.ts';
import { seedFleet, type SeededFleet } from '../../support/seed-fleet.ts';
import { TEST_DATABASES, type TestDatabase } from '../store/test-databases.ts';
import type { Kysely } from 'kysely';

const FIFTY = { limit: 51, after: undefined };
const NEWEST = { limit: 51, before: undefined };
const AT = '2026-11-28T00:00:00.000Z';

type Look = (db: Kysely<Database>, organizationId: string) => Promise<unknown>;

/** Each list with the queries of one page, whatever is on it, and whether it may be read without an index. */
const LISTS: readonly (readonly [name: string, queries: number, look: Look])[] = [
  [
    'clusters at a glance, 500 on a page',
    3,
    async (db, organizationId) => {
      const rows = await findClusters(db, { organizationId }, { limit: 500, after: slugOf(17) });
      const standingOf = await clusterStandings(db, rows);
      expect(rows.map(standingOf).length).toBe(500);
    },
  ],
  [
    'clusters by labels',
    1,
    async (db, organizationId) => {
      const labels = parseLabelSelector('env=prod,region!=eu,team in (team-1,team-2),!retired');
      const rows = await findClusters(db, { organizationId, labels }, FIFTY);
      expect(rows.length).toBe(51);
    },
  ],
  ...CLUSTER_HEALTHS.map((health): readonly [string, number, Look] => [
    `clusters that are ${health}`,
    1,
    async (db, organizationId) => {
      expect((await findClusters(db, { organizationId, health }, FIFTY)).length).toBe(51);
    },
  ]),
  [
    'clusters by mode and text',
    1,
    async (db, id) => await findClusters(db, { organizationId: id, mode: 'pull', text: 'EU' }, FIFTY),
  ],
  ['applications', 1, async (db, id) => await listApplications(db, { organizationId: id }, FIFTY)],
  [
    'applications that failed',
    1,
    async (db, id) => await listApplications(db, { organizationId: id, health: 'degraded' }, FIFTY),
  ],
  [
    'applications by state',
    1,
    async (db, id) => await listApplications(db, { organizationId: id, state: 'accepted' }, FIFTY),
  ],
  [
    'applications by namespace',
    1,
    async (db, id) => await listApplications(db, { organizationId: id, namespace: 'web' }, FIFTY),
  ],
  [
    'applications of an entry',
    1,
    async (db, id) => await listApplications(db, { organizationId: id, catalogEntry: 'redis' }, FIFTY),
  ],
  [
    'applications by name',
    1,
    async (db, organizationId) => {
      const after = [clusterId('default', 7), 'web', 'redis-1'] as const;
      const rows = await listApplications(db, { organizationId, prefix: 'red' }, { limit: 51, after });
      expect(rows.length).toBe(51);
    },
  ],
  [
    'applications of a cluster',
    1,
    async (db, organizationId) => {
      const rows = await listApplications(db, { organizationId, clusterId: clusterId('default', 3) }, FIFTY);
      expect(rows.length).toBe(5);
    },
  ],
  ['intents', 3, async (db, id) => await listIntents(db, { organizationId: id }, { limit: 51, before: [AT, 'int-z'] })],
  [
    'intents by state',
    3,
    async (db, id) => await listIntents(db, { organizationId: id, state: 'failed', since: AT }, NEWEST),
  ],
  [
    'intents by who asked',
    3,
    async (db, id) => await listIntents(db, { organizationId: id, requestedBy: 'ben' }, NEWEST),
  ],
  [
    'intents by name',
    3,
    async (db, id) => await listIntents(db, { organizationId: id, namespace: 'web', name: 'redis-1' }, NEWEST),
  ],
  [
    'intents of a cluster',
    3,
    async (db, id) => await listIntents(db, { organizationId: id, clusterId: clusterId('default', 3) }, NEWEST),
  ],
  [
    'operations',
    3,
    async (db, id) => await listOperationsOf(db, { organizationId: id, template: 'rollout-restart' }, NEWEST),
  ],
  ['jobs', 1, async (db, id) => await listJobs(db, { organizationId: id }, { limit: 51, before: ['2099', 'z'] })],
  ['jobs by state', 1, async (db, id) => await listJobs(db, { organizationId: id, state: 'pending' }, NEWEST)],
  ['what waits', 3, async (db, id) => [await countWaiting(db, id), await countUndecided(db, id)]],
];

/** Where many clusters have a label, PostgreSQL, which knows how many, rightly reads the clusters in one go. */
function isNotByLabel(scan: string): boolean {
  return !(scan.startsWith('clusters: ') && scan.includes('FROM cluster_labels') && scan.includes('$1'));
}

describe.each(TEST_DATABASES)('10,000 clusters and 100,000 intents on $name', ({ name, create }) => {
  let database: TestDatabase;
  let store: Store;
  let fleet: SeededFleet;
  let small: SeededFleet;

  beforeAll(async () => {
    database = await create();
    store = await database.open();
    // The small one first, whose indexes are made in no time.
    small = await seedFleet(database.url, { organization: 'small', clusters: 30, intents: 300 });
    fleet = await seedFleet(database.url);
  }, 240_000);
  afterAll(async () => {
    await store[Symbol.asyncDispose]();
    database[Symbol.dispose]();
  });

  it.each(LISTS)('answers %s out of indexes, with as many queries as ever', async (_what, queries, look) => {
    const watch = new QueryWatch(store.db);
    await look(watch.db, fleet.organizationId);
    expect(watch.queries.length).toBe(queries);
    expect((await watch.scans()).filter(isNotByLabel)).toEqual([]);
    // Another organization's are as many queries and no scan either.
    const other = new QueryWatch(store.db);
    await look(other.db, small.organizationId).catch(() => undefined);
    expect((await other.scans()).filter(isNotByLabel)).toEqual([]);
  });

  it('counts a fleet in one query, and looks at no other fleet for it', async () => {
    const watch = new QueryWatch(store.db);
    const counted = await countFleet(watch.db, { organizationId: small.organizationId }, 'env');
    expect(counted.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    expect([watch.queries.length, await watch.scans()]).toEqual([1, []]);
    const whole = await countFleet(store.db, { organizationId: fleet.organizationId }, undefined);
    expect(whole.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
  });

  it.each(SEARCH_KINDS)('searches for a %s without looking at all there is', async (kind) => {
    const watch = new QueryWatch(store.db);
    for (const text of [slugOf(4711), 'redis', 'restart-9', 'int-00000000', commitOf(99), 'shop/red']) {
      await searchAll(watch.db, { organizationId: fleet.organizationId, text, kind, limit: 50 });
    }
    // A part of a cluster's name is looked for in all names of clusters, whichever way.
    const isKnown = (scan: string): boolean =>
      kind === 'cluster' && scan.startsWith('clusters: ') && scan.includes('like');
    expect((await watch.scans()).filter((scan) => !isKnown(scan.toLowerCase()))).toEqual([]);
  });

  it('pages through everything once, and shows what is added behind the cursor', async () => {
    const { organizationId } = fleet;
    const slugs: string[] = [];
    for (let after: string | undefined; ;) {
      const rows = await findClusters(store.db, { organizationId, health: 'degraded' }, { limit: 500, after });
      slugs.push(...rows.map(({ slug }) => slug));
      after = rows.at(-1)?.slug;
      if (rows.length < 500) break;
    }
    expect(new Set(slugs).size).toBe(slugs.length);
    expect(slugs.length).toBeGreaterThan(500);
    expect(slugs).toEqual([...slugs].sort());
    expect(name).not.toBe('');
  });
});
