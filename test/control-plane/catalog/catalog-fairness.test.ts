import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CatalogRefresh } from '../../../src/control-plane/catalog/catalog-refresh.ts';
import { openMasterKey } from '../../../src/control-plane/master-key.ts';
import { putCatalogEntry, type StoredCatalogEntry } from '../../../src/control-plane/store/catalog-entries.ts';
import { findChartVersions, type KnownVersions } from '../../../src/control-plane/store/chart-versions.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { ChartRegistry } from '../../support/chart-registry.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { testDatabaseUrl } from '../../support/postgres/test-database-url.ts';
import { insertOrganization, temporaryFolder, TEST_LOGGER } from '../store/open-test-store.ts';
import { HurriedClock } from './ask-registry.ts';

const STOP = new AbortController().signal;

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let registry: ChartRegistry;
let refresh: CatalogRefresh;
let clock: HurriedClock;
let random: () => number;

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openStore({ url: await testDatabaseUrl(folder.path), clock: new ManualClock(), logger: TEST_LOGGER });
  for (const id of ['org', 'other']) await insertOrganization(store, id);
  registry = await ChartRegistry.start();
  registry.tags.set('charts/podinfo', ['6.5.0']);
  clock = new HurriedClock();
  random = () => 0.5;
  refresh = new CatalogRefresh({
    store,
    masterKey: openMasterKey({ file: join(folder.path, 'master.key'), randomBytes }),
    clock,
    random: () => random(),
    logger: TEST_LOGGER,
    allowPrivate: true,
  });
});
afterEach(async () => {
  await refresh[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function put(organization: string, chart: StoredCatalogEntry['chart'], ...entries: string[]): Promise<void> {
  await store.write(async (trx) => {
    for (const name of entries) {
      await putCatalogEntry(trx, organization, { name, chart, versions: '6.x', updatedAt: clock.now().toISOString() });
    }
  });
}

const known = async (organization: string, chart: StoredCatalogEntry['chart'], name: string): Promise<KnownVersions> =>
  await findChartVersions(store.db, organization, { name, chart });

describe('the refresh of the catalog', () => {
  it('comes to the other entries soon, of its own organization and of others, where many are at a host that is down', async () => {
    await using dead = await ChartRegistry.start();
    dead.interference = (_request, response) => response.writeHead(503).end();
    await put('org', dead.oci(), ...Array.from({ length: 210 }, (_, at) => `a-${at}`));
    await put('org', registry.oci(), 'z');
    await put('other', registry.oci(), 'z');
    await refresh.turn(STOP);
    expect(dead.asked).toHaveLength(3);
    expect(await known('other', registry.oci(), 'z')).toMatchObject({ versions: [{ version: '6.5.0' }] });
    await refresh.turn(STOP);
    expect(await known('org', registry.oci(), 'z')).toMatchObject({ versions: [{ version: '6.5.0' }] });
    const checkedAt = expect.any(String);
    const down = `${dead.host} answered 503`;
    const left = `not asked for, as an entry of the same host was not answered: ${down}`;
    expect(await known('org', dead.oci(), 'a-0')).toEqual({ versions: [], leftOut: 0, checkedAt, fault: down });
    expect(await known('org', dead.oci(), 'a-1')).toEqual({ versions: [], leftOut: 0, checkedAt, fault: left });
  });

  it('asks a host for another organization where it does not answer about an entry of the one', async () => {
    registry.tags.set('charts/other', ['1.0.0']);
    registry.interference = (request, response) =>
      request.url?.includes('/podinfo/') === true ? response.writeHead(500).end() : 'go on';
    await put('org', registry.oci(), 'a', 'b');
    await put('other', registry.oci('charts/other'), 'a');
    await refresh.turn(STOP);
    expect(await known('other', registry.oci('charts/other'), 'a')).toMatchObject({ versions: [{ version: '1.0.0' }] });
  });

  it('has put off the next question before it asks, for what stops it in the middle', async () => {
    await put('org', registry.oci(), 'a');
    const rows: unknown[] = [];
    registry.interferences.push(async () => {
      rows.push(...(await store.db.selectFrom('chart_versions').selectAll().execute()));
      return 'go on';
    });
    const next = new Date(clock.now().getTime() + 600_000).toISOString();
    await refresh.turn(STOP);
    expect(rows).toMatchObject([{ entry: 'a', checked_at: null, next_check_at: next }]);
  });

  it('stores a fault where it fails by a mistake of its own, and asks no sooner for it', async () => {
    await put('org', registry.oci(), 'a');
    registry.interferences.push((_request, response) => response.writeHead(503).end());
    random = () => {
      random = () => 0.5;
      throw new TypeError('a mistake');
    };
    await refresh.refresh('org', 'a', STOP);
    expect(await known('org', registry.oci(), 'a')).toMatchObject({
      fault: 'what its registry answers was not read, by a mistake of the control plane; its log tells more',
    });
    clock.advance(3_599_999);
    await refresh.turn(STOP);
    expect(registry.asked).toHaveLength(1);
  });
});
