import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CatalogRefresh } from '../../../src/control-plane/catalog/catalog-refresh.ts';
import { sealCredential } from '../../../src/control-plane/catalog/registry-credential.ts';
import { openMasterKey, type MasterKey } from '../../../src/control-plane/master-key.ts';
import {
  putCatalogEntry,
  setCatalogCredential,
  type StoredCatalogEntry,
} from '../../../src/control-plane/store/catalog-entries.ts';
import {
  findChartVersions,
  fitVersions,
  makeDue,
  type KnownVersions,
} from '../../../src/control-plane/store/chart-versions.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { testDatabaseUrl } from '../../support/postgres/test-database-url.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ChartRegistry, helmIndex } from '../../support/chart-registry.ts';
import { insertOrganization, temporaryFolder, TEST_LOGGER } from '../store/open-test-store.ts';
import { HurriedClock } from './ask-registry.ts';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

const STOP = new AbortController().signal;
const HOUR_MS = 3_600_000;

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let masterKey: MasterKey;
let registry: ChartRegistry;
let refresh: CatalogRefresh;
let clock: HurriedClock;

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openStore({ url: await testDatabaseUrl(folder.path), clock: new ManualClock(), logger: TEST_LOGGER });
  await insertOrganization(store, 'org');
  masterKey = openMasterKey({ file: join(folder.path, 'master.key'), randomBytes });
  registry = await ChartRegistry.start();
  registry.tags.set('charts/podinfo', ['6.5.0', '6.6.0', '7.0.0']);
  clock = new HurriedClock();
  refresh = new CatalogRefresh({ store, masterKey, clock, random: () => 0.5, logger: TEST_LOGGER, allowPrivate: true });
});
afterEach(async () => {
  await refresh[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

function entryOf(chart: StoredCatalogEntry['chart'], name = 'podinfo', versions = '6.x'): StoredCatalogEntry {
  return { name, chart, versions, updatedAt: clock.now().toISOString() };
}

async function put(entry: StoredCatalogEntry): Promise<StoredCatalogEntry> {
  await store.write(async (trx) => {
    await fitVersions(trx, 'org', entry, await putCatalogEntry(trx, 'org', entry));
  });
  return entry;
}

const known = async (entry: StoredCatalogEntry): Promise<KnownVersions> =>
  await findChartVersions(store.db, 'org', entry);
const names = async (entry: StoredCatalogEntry): Promise<string[]> =>
  (await known(entry)).versions.map(({ version }) => version);
const newest = async (): Promise<unknown> =>
  (await store.db.selectFrom('chart_versions').select('newest_allowed').executeTakeFirst())?.newest_allowed;

describe('CatalogRefresh', () => {
  it('asks for what is due, about every hour, and keeps when it was', async () => {
    const entry = await put(entryOf(registry.oci()));
    await refresh.turn(STOP);
    const at = clock.now().toISOString();
    expect(await known(entry)).toEqual({
      versions: [{ version: '7.0.0' }, { version: '6.6.0' }, { version: '6.5.0' }],
      leftOut: 0,
      fetchedAt: at,
      checkedAt: at,
    });
    expect(await newest()).toBe('6.6.0');
    clock.advance(HOUR_MS - 1);
    await refresh.turn(STOP);
    expect(registry.asked).toHaveLength(1);
    clock.advance(1);
    await refresh.turn(STOP);
    expect(registry.asked).toHaveLength(2);
  });

  it('keeps the last list of a registry that is down, with the fault, and takes it up again soon', async () => {
    const entry = await put(entryOf(registry.oci()));
    await refresh.turn(STOP);
    const fetchedAt = clock.now().toISOString();
    registry.interference = (_request, response) => response.writeHead(502).end();
    clock.advance(HOUR_MS);
    await refresh.turn(STOP);
    expect(await known(entry)).toMatchObject({
      versions: [{ version: '7.0.0' }, { version: '6.6.0' }, { version: '6.5.0' }],
      fetchedAt,
      checkedAt: clock.now().toISOString(),
      fault: `${registry.host} answered 502`,
    });
    registry.interference = undefined;
    clock.advance(600_000);
    await refresh.turn(STOP);
    const { fault, fetchedAt: later } = await known(entry);
    expect([fault, later]).toEqual([undefined, clock.now().toISOString()]);
  });

  it('leaves a host that does not answer alone for the rest of a look, and asks the others', async () => {
    await using other = await ChartRegistry.start();
    other.tags.set('charts/podinfo', ['1.0.0']);
    registry.interference = (_request, response) => response.writeHead(503).end();
    for (const name of ['a', 'b', 'c']) await put(entryOf(registry.oci(), name));
    const alive = await put(entryOf(other.oci(), 'd'));
    await refresh.turn(STOP);
    expect(registry.asked).toHaveLength(3);
    expect(await names(alive)).toEqual(['1.0.0']);
  });

  it('asks one question at a time of a host, and several hosts at once', async () => {
    await using other = await ChartRegistry.start();
    for (const name of ['a', 'b', 'c']) {
      await put(entryOf(registry.oci(), name));
      await put(entryOf(other.oci(), `other-${name}`));
    }
    // The first question stays open until the other host was asked all of its own.
    const others = Promise.withResolvers<void>();
    other.interference = () => {
      if (other.asked.length === 3) others.resolve();
      return 'go on';
    };
    registry.interferences.push(async () => {
      await others.promise;
      return 'go on';
    });
    await Promise.all([refresh.turn(STOP), refresh.refresh('org', 'c', STOP), refresh.refresh('org', 'other-c', STOP)]);
    expect([registry.mostAtOnce, other.mostAtOnce]).toEqual([1, 1]);
  });

  it('asks at once where somebody wants to know, and not again within ten seconds', async () => {
    const entry = await put(entryOf(registry.oci()));
    await Promise.all([refresh.refresh('org', 'podinfo', STOP), refresh.refresh('org', 'podinfo', STOP)]);
    expect(await names(entry)).toEqual(['7.0.0', '6.6.0', '6.5.0']);
    registry.tags.set('charts/podinfo', ['7.1.0']);
    await refresh.refresh('org', 'podinfo', STOP);
    expect(registry.asked).toHaveLength(1);
    clock.advance(10_000);
    await refresh.refresh('org', 'podinfo', STOP);
    expect(await names(entry)).toEqual(['7.1.0']);
  });

  it('asks at once again where the credential was changed meanwhile', async () => {
    registry.auth = { kind: 'basic', username: 'robot', password: 'a-password-of-the-robot' };
    const entry = await put(entryOf(registry.oci()));
    await refresh.refresh('org', 'podinfo', STOP);
    expect((await known(entry)).fault).toContain('it wants a credential');
    await setCredential(entry);
    await store.write(async (trx) => await makeDue(trx, 'org', 'podinfo'));
    await refresh.refresh('org', 'podinfo', STOP);
    expect((await known(entry)).fault).toBeUndefined();
  });

  it('does not read an index again that has not changed', async () => {
    registry.indices.set('/stable/index.yaml', helmIndex([{ version: '6.5.0' }]));
    const entry = await put(entryOf(registry.helm()));
    await refresh.turn(STOP);
    clock.advance(HOUR_MS);
    await refresh.turn(STOP);
    expect(registry.asked[1]?.ifNoneMatch).toMatch(/^"/);
    expect(await names(entry)).toEqual(['6.5.0']);
    expect((await known(entry)).fetchedAt).toBe(clock.now().toISOString());
  });

  it('forgets the list of another chart, and judges the same list by another range', async () => {
    const entry = await put(entryOf(registry.oci()));
    await refresh.turn(STOP);
    await put(entryOf(registry.oci(), 'podinfo', '>=7'));
    expect(await newest()).toBe('7.0.0');
    const other = await put(entryOf(registry.oci('charts/other')));
    expect(await known(other)).toEqual({ versions: [], leftOut: 0 });
    await refresh.turn(STOP);
    expect((await known(other)).fault).toBe(`${registry.host} has no repository charts/other (404)`);
    expect(await known(entry)).toEqual({ versions: [], leftOut: 0 });
  });

  it('stores nothing that came for a chart or a credential of before', async () => {
    await put(entryOf(registry.oci()));
    const other = entryOf(registry.oci('charts/other'));
    const changes = [async () => await put(other), async () => await setCredential(other)];
    for (const change of changes) {
      registry.interferences.push(async () => {
        await change();
        return 'go on';
      });
      await refresh.turn(STOP);
      expect(await known(other)).toEqual({ versions: [], leftOut: 0 });
    }
  });

  it('reads with the credential of the entry, which opens for no other chart', async () => {
    const credential = { username: 'robot', password: 'a-password-of-the-robot' };
    registry.auth = { kind: 'bearer', ...credential };
    const entry = await put(entryOf(registry.oci()));
    const sealed = await setCredential(entry);
    await refresh.turn(STOP);
    expect(await names(entry)).toEqual(['7.0.0', '6.6.0', '6.5.0']);
    await using other = await ChartRegistry.start();
    const moved = await put(entryOf(other.oci()));
    // As somebody would who writes to the database.
    await store.write(async (trx) => {
      await trx.updateTable('catalog_entries').set({ credential_sealed: sealed }).execute();
    });
    await refresh.turn(STOP);
    expect((await known(moved)).fault).toBe(
      'the stored credential of the entry does not open; set it again with servicectl catalog login',
    );
    expect(other.asked).toEqual([]);
  });
});

async function setCredential(entry: StoredCatalogEntry): Promise<string> {
  const owner = { organizationId: 'org', entry: entry.name, chart: entry.chart };
  const credential = { username: 'robot', password: 'a-password-of-the-robot' };
  const sealed = await sealCredential(masterKey, owner, credential);
  const info = { username: 'robot', setAt: clock.now().toISOString() };
  await store.write(async (trx) => await setCatalogCredential(trx, 'org', entry.name, { sealed, info }));
  return sealed;
}
