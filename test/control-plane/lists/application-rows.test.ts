import type { Kysely } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  applicationCounts,
  CLUSTER_HEALTHS,
  healthOf,
  NO_APPLICATIONS,
} from '../../../src/control-plane/store/cluster-health.ts';
import { findClusters } from '../../../src/control-plane/store/cluster-lists.ts';
import { countFleet } from '../../../src/control-plane/store/fleet-counts.ts';
import { insertIntent } from '../../../src/control-plane/store/intents.ts';
import type { ApplicationRow, ClusterRow, Database, IntentRow } from '../../../src/control-plane/store/schema.ts';
import { insertCluster, insertOrganization } from '../store/open-test-store.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';

const STATES = ['accepted', 'proposed', 'delivered', 'applied', 'ready', 'failed', 'superseded', 'removed'] as const;
const AT = '2026-11-28T12:00:00.000Z';

/** The same numbers in [0, 1) every time. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What `migrations/application-rows.ts` promises, told once more from the intents themselves. */
function expectedOf(intents: readonly IntentRow[], observed: ApplicationRow['observed']) {
  const newestFirst = [...intents].sort((a, b) => b.generation - a.generation);
  const newest = newestFirst.find(({ state }) => state !== 'superseded') ?? newestFirst[0];
  if (newest === undefined) throw new Error('an application without an intent');
  return { intent_id: newest.id, state: newest.state, health: healthFrom(newest, observed) };
}

function healthFrom({ state, applied_at: appliedAt }: IntentRow, observed: ApplicationRow['observed']): string {
  if (state === 'removed') return 'gone';
  if (state === 'delivered' || state === 'applied') return 'progressing';
  if (state === 'failed' && appliedAt !== null) return 'degraded';
  if (observed !== null) return { ready: 'healthy', failed: 'degraded', progressing: 'progressing' }[observed];
  return { ready: 'healthy', failed: 'degraded', accepted: 'progressing', proposed: 'progressing', superseded: 'gone' }[
    state
  ];
}

async function addIntent(trx: Kysely<Database>, clusterId: string, name: string, generation: number): Promise<void> {
  await insertIntent(trx, {
    id: `int-${clusterId}-${name}-${generation}`,
    organization_id: 'org',
    cluster_id: clusterId,
    target_kind: 'ApplicationInstance',
    namespace: 'shop',
    name,
    generation,
    action: 'install',
    record: JSON.stringify({ catalogEntry: 'podinfo', chartVersion: `6.5.${generation}` }),
    idempotency_key: `${clusterId}-${name}-${generation}`,
    state: 'accepted',
    reason: null,
    requested_by: 'anna',
    recovery_values: null,
    render_inputs: null,
    awaits_approval: null,
    accepted_at: AT,
    delivered_at: null,
    applied_at: null,
    ready_at: null,
  });
}

describe.each(TEST_DATABASES)('applications on $name', ({ create }) => {
  it('have a row each that says what their intents say, however these move, and clusters a health that both sides tell alike', async () => {
    using database = await create();
    await using store = await database.open();
    await insertOrganization(store, 'org');
    await insertOrganization(store, 'other');
    const random = seededRandom(7);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const clusters = Array.from({ length: 12 }, (_, place) => `c-${place}`);
    for (const id of clusters) await insertCluster(store, { id, organization_id: 'org', slug: id });
    await insertCluster(store, { id: 'c-other', organization_id: 'other', slug: 'other' });
    const generations = new Map<string, number>();
    for (let round = 0; round < 150; round += 1) {
      const [clusterId, name] = [pick(clusters), pick(['a', 'b'])];
      await store.write(async (trx) => {
        const generation = (generations.get(`${clusterId}/${name}`) ?? 0) + 1;
        if (random() < 0.4) {
          await addIntent(trx, clusterId, name, generation);
          generations.set(`${clusterId}/${name}`, generation);
        } else if (generation > 1) {
          const state = pick(STATES);
          await trx
            .updateTable('intents')
            .set({ state, ...(random() < 0.5 ? { applied_at: AT } : {}) })
            .where('id', '=', `int-${clusterId}-${name}-${1 + Math.floor(random() * (generation - 1))}`)
            .execute();
          await trx
            .updateTable('applications')
            .set({ observed: pick([null, 'ready', 'failed', 'progressing'] as const) })
            .where('cluster_id', '=', clusterId)
            .where('name', '=', name)
            .where('state', '<>', 'removed')
            .execute();
        }
        await trx.updateTable('clusters').set(changeOf(pick)).where('id', '=', pick(clusters)).execute();
      });
    }
    const rows = await store.db.selectFrom('applications').selectAll().execute();
    const intents = await store.db.selectFrom('intents').selectAll().execute();
    expect(rows.length).toBe(generations.size);
    for (const row of rows) {
      const own = intents.filter(({ cluster_id: id, name }) => id === row.cluster_id && name === row.name);
      const { intent_id, state, health } = row;
      expect({ intent_id, state, health }).toEqual(expectedOf(own, row.observed));
    }
    const page = { limit: 100, after: undefined };
    const all = await findClusters(store.db, { organizationId: 'org' }, page);
    const counts = await applicationCounts(store.db, clusters);
    const told = new Map(all.map((row) => [row.slug, healthOf(row, counts.get(row.id) ?? NO_APPLICATIONS)]));
    // Else the test would show nothing.
    expect(new Set(told.values()).size).toBeGreaterThan(3);
    const counted = await countFleet(store.db, { organizationId: 'org' }, undefined);
    for (const health of CLUSTER_HEALTHS) {
      const expected = [...told].flatMap(([slug, one]) => (one === health ? [slug] : []));
      const found = await findClusters(store.db, { organizationId: 'org', health }, page);
      expect([health, found.map(({ slug }) => slug)]).toEqual([health, expected]);
      const sum = counted.filter((one) => one.health === health).reduce((total, { count }) => total + count, 0);
      expect([health, sum]).toEqual([health, expected.length]);
    }
  });
});

function changeOf(pick: <T>(list: readonly T[]) => T): Partial<ClusterRow> {
  return {
    status: pick(['Active', 'Active', 'Active', 'Pending']),
    last_contact_at: pick([AT, AT, AT, null]),
    disabled_at: pick([null, null, null, null, AT]),
    revoked_at: pick([null, null, null, null, null, AT]),
    disconnected_at: pick([null, null, null, AT, '2026-11-28T11:00:00.000Z']),
    reported_fault: pick([null, null, null, null, null, 'SourceUnreachable']),
    delivery_held: pick([0, 0, 0, 0, 1]),
  };
}
