import type { KyselyPlugin } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listUpgrades } from '../../../src/control-plane/catalog/upgrades.ts';
import { putCatalogEntry } from '../../../src/control-plane/store/catalog-entries.ts';
import { insertIntent } from '../../../src/control-plane/store/intents.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { testDatabaseUrl } from '../../support/postgres/test-database-url.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { IntentRow } from '../../../src/control-plane/store/schema.ts';
import { insertCluster, insertOrganization, temporaryFolder, TEST_LOGGER } from '../store/open-test-store.ts';

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let count = 0;

beforeEach(async () => {
  count = 0;
  folder = temporaryFolder();
  store = await openStore({ url: await testDatabaseUrl(folder.path), clock: new ManualClock(), logger: TEST_LOGGER });
  await insertOrganization(store, 'org');
  await insertCluster(store, { id: 'c-1', organization_id: 'org' });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** An intent about an instance that its cluster got to know as `state` says. */
async function intent(name: string, generation: number, more: Partial<IntentRow> & { readonly entry?: string } = {}) {
  const { entry = 'podinfo', ...row } = more;
  const action = row.action ?? 'install';
  const chart = action === 'uninstall' ? {} : { catalogEntry: entry, chartVersion: `6.${generation}.0` };
  count += 1;
  await store.write(async (trx) => {
    await insertIntent(trx, {
      id: `int-${count}`,
      organization_id: 'org',
      cluster_id: 'c-1',
      target_kind: 'ApplicationInstance',
      namespace: 'shop',
      name,
      generation,
      action,
      record: JSON.stringify({ action, ...chart }),
      idempotency_key: `key-${count}`,
      state: 'ready',
      reason: null,
      requested_by: 'anna',
      recovery_values: null,
      render_inputs: null,
      awaits_approval: null,
      accepted_at: '',
      delivered_at: null,
      applied_at: null,
      ready_at: null,
      ...row,
    });
  });
}

const standing = async (): Promise<string[]> =>
  (await listUpgrades(store.db, { organizationId: 'org', clusterId: 'c-1' }, { limit: 500 })).map(
    ({ name, version }) => `${name} ${version}`,
  );

describe('the instances that stand', () => {
  it('are of the newest intent that reached the cluster', async () => {
    await intent('waits', 1);
    await intent('waits', 2, { state: 'accepted' });
    await intent('delivered', 1);
    await intent('delivered', 2, { state: 'delivered' });
    await intent('superseded', 1, { state: 'superseded' });
    await intent('superseded', 2, { state: 'ready' });
    await intent('refused', 1, { state: 'superseded', applied_at: 'then' });
    await intent('refused', 2, { state: 'failed' });
    await intent('failed', 1);
    await intent('failed', 2, { state: 'failed', applied_at: 'then' });
    await intent('never', 1, { state: 'failed' });
    await intent('gone', 1);
    await intent('gone', 2, { state: 'removed', action: 'uninstall' });
    await intent('going', 1);
    await intent('going', 2, { state: 'delivered', action: 'uninstall' });
    await intent('again', 1);
    await intent('again', 2, { state: 'removed', action: 'uninstall' });
    await intent('again', 3);
    expect(await standing()).toEqual([
      'again 6.3.0',
      'delivered 6.2.0',
      'failed 6.2.0',
      'refused 6.1.0',
      'superseded 6.2.0',
      'waits 6.1.0',
    ]);
  });

  it('are told with two queries, however many they and their entries are', async () => {
    for (let at = 0; at < 30; at += 1) {
      const entry = `entry-${at}`;
      await intent(`app-${at}`, 1, { entry });
      const chart = { type: 'oci', url: 'oci://x/y', name: 'y' } as const;
      await store.write(async (trx) => {
        await putCatalogEntry(trx, 'org', { name: entry, chart, versions: '*', updatedAt: '' });
      });
    }
    let queries = 0;
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => {
        queries += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const db = store.db.withPlugin(counting);
    expect(await listUpgrades(db, { organizationId: 'org' }, { limit: 100 })).toHaveLength(30);
    expect(queries).toBe(2);
  });
});
