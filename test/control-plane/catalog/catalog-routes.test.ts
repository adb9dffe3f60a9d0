import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ChartRegistry, helmIndex } from '../../support/chart-registry.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const PASSWORD = 'a-password-of-the-robot';
const ROBOT = { username: 'robot', password: PASSWORD };

let plane: RunningControlPlane;
let registry: ChartRegistry;

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_CATALOG_ALLOW_PRIVATE: 'true' });
  registry = await ChartRegistry.start();
  registry.tags.set('charts/podinfo', ['6.5.0', '6.6.0', '6.7.0-rc.1', '7.0.0', 'latest']);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

const entry = (more: object = {}) => ({ chart: registry.oci(), versions: '6.x', ...more });
const put = async (name: string, more: object = {}) => await plane.call('PUT', `/catalog/${name}`, entry(more));
const audited = async (kind: string) =>
  (await plane.call('GET', `/audit?kind=${kind}`)).body['items'].map(
    ({ summary }: { summary: string }) => summary,
  ) as string[];

async function install(cluster: string, name: string, more: object = {}): Promise<void> {
  const { body } = await plane.call('POST', `/clusters/${cluster}/intents`, { ...INSTALL, name, ...more });
  await plane.until(String(body['id']), 'delivered');
}

describe('GET /catalog/{name}/versions', () => {
  it('says of each version whether the range allows it, and when they came', async () => {
    await put('podinfo');
    expect((await plane.call('GET', '/catalog/podinfo/versions')).body).toEqual({
      range: '6.x',
      versions: [],
      leftOut: 0,
    });
    const { status, body } = await plane.call('GET', '/catalog/podinfo/versions?refresh=true');
    expect([status, body]).toEqual([
      200,
      {
        range: '6.x',
        versions: [
          { version: '7.0.0', isAllowed: false },
          { version: '6.7.0-rc.1', isAllowed: false },
          { version: '6.6.0', isAllowed: true },
          { version: '6.5.0', isAllowed: true },
        ],
        leftOut: 1,
        fetchedAt: expect.stringMatching(/Z$/),
        checkedAt: body['fetchedAt'],
      },
    ]);
    await put('podinfo', { versions: '>=6.7.0-rc.0 <8' });
    const { body: other } = await plane.call('GET', '/catalog/podinfo/versions');
    expect(other['versions'].map(({ isAllowed }: { isAllowed: boolean }) => isAllowed)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('keeps the list and says what is wrong where the registry is down', async () => {
    await put('down');
    await plane.call('GET', '/catalog/down/versions?refresh=true');
    await plane.execute("UPDATE chart_versions SET checked_at = '2026-01-01T00:00:00.000Z' WHERE entry = 'down'");
    registry.interference = (_request, response) => response.writeHead(500).end();
    const { status, body } = await plane.call('GET', '/catalog/down/versions?refresh=true');
    registry.interference = undefined;
    expect([status, body['versions'].length, body['fault']]).toEqual([200, 4, `${registry.host} answered 500`]);
    expect(body['fetchedAt'] < body['checkedAt']).toBe(true);
  });

  it.for(['/catalog/nowhere/versions', '/catalog/nowhere/upgrades', '/clusters/nowhere/upgrades'])(
    'is not found: %s',
    async (path) => {
      expect(await plane.call('GET', path)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    },
  );
});

describe('the credential of a catalog entry', () => {
  it('is stored sealed, used, and never shown', async () => {
    registry.tags.set('private/podinfo', ['1.0.0']);
    const chart = registry.oci('private/podinfo');
    await put('private', { chart, versions: '*' });
    registry.auth = { kind: 'bearer', ...ROBOT };
    const set = await plane.call('PUT', '/catalog/private/credentials', ROBOT);
    expect(set).toMatchObject({ status: 200, body: { name: 'private', credentials: { username: 'robot' } } });
    const { body: versions } = await plane.call('GET', '/catalog/private/versions?refresh=true');
    registry.auth = undefined;
    expect(versions['versions']).toEqual([{ version: '1.0.0', isAllowed: true }]);
    expect(await audited('CatalogCredentialUpdated')).toEqual([
      `catalog entry private: credential of user robot set for ${chart.url}`,
    ]);
    const paths = ['/catalog', '/catalog/private', '/catalog/private/versions', '/audit'];
    const shown = await Promise.all(paths.map(async (path) => (await plane.call('GET', path)).body));
    const rows = [plane.query('SELECT * FROM catalog_entries'), plane.query('SELECT * FROM chart_versions')];
    const basic = Buffer.from(`robot:${PASSWORD}`).toString('base64');
    for (const secret of [PASSWORD, basic]) expect(JSON.stringify([set.body, shown, rows])).not.toContain(secret);
  });

  it('stays while the entry is put for the same chart, and goes with it', async () => {
    const chart = registry.oci('private/podinfo');
    await put('private', { chart: { name: chart.name, url: chart.url, type: 'oci' }, versions: '1.x' });
    expect((await plane.call('GET', '/catalog/private')).body['credentials']).toMatchObject({ username: 'robot' });
    await put('private', { chart: registry.oci('other/podinfo') });
    expect((await plane.call('GET', '/catalog/private')).body['credentials']).toBeUndefined();
    expect(await audited('CatalogCredentialDeleted')).toEqual([
      'catalog entry private: credential of user robot dropped: it was for the chart before',
    ]);
    expect(await plane.call('DELETE', '/catalog/private/credentials')).toMatchObject({ status: 404 });
  });

  it('is refused where it would travel in clear', async () => {
    const chart = { type: 'helm', url: 'http://charts.example.com', name: 'podinfo' };
    await put('plain', { chart });
    expect(await plane.call('PUT', '/catalog/plain/credentials', ROBOT)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('http://charts.example.com is http://') },
    });
  });

  it.for([
    ['a colon in the name', { ...ROBOT, username: 'a:b' }, '/username'],
    ['two lines', { ...ROBOT, password: 'a\nb' }, '/password'],
    ['no password', { username: 'robot' }, '/password'],
  ] as const)('is refused with %s', async ([, body, path]) => {
    const answer = await plane.call('PUT', '/catalog/podinfo/credentials', body);
    expect(answer.body['faults'].map((fault: { path: string }) => fault.path)).toEqual([path]);
    expect(JSON.stringify(answer.body)).not.toContain(PASSWORD);
  });
});

describe('upgrades', () => {
  it('are told of each instance that stands, by its entry and by its cluster, page by page', async () => {
    registry.indices.set(
      '/stable/index.yaml',
      helmIndex([{ version: '6.5.0' }, { version: '6.6.0' }, { version: '6.8.0', deprecated: true }]),
    );
    const deprecation = { message: 'it is too old', replacement: 'podinfo' };
    await put('app', { chart: registry.helm(), deprecation });
    await put('unlisted', { chart: registry.oci('nobody/knows') });
    const allowedCatalogEntries = ['app', 'unlisted'];
    const [eu, us] = [
      await plane.newCluster('eu', { allowedCatalogEntries }),
      await plane.newCluster('us', { allowedCatalogEntries }),
    ];
    await install('eu', 'old', { catalogEntry: 'app' });
    await install('eu', 'new', { catalogEntry: 'app', chartVersion: '6.6.0' });
    await install('eu', 'other', { catalogEntry: 'unlisted' });
    await install('us', 'gone', { catalogEntry: 'app' });
    await install('us', 'moved', { catalogEntry: 'app' });
    await install('us', 'moved', { action: 'update', catalogEntry: 'unlisted', chartVersion: '6.6.0' });
    await install('us', 'gone', { action: 'uninstall', catalogEntry: undefined, chartVersion: undefined });
    await plane.call('GET', '/catalog/app/versions?refresh=true');
    const one = (name: string, version: string, isUpgradeAvailable: boolean) => ({
      cluster: { id: eu, slug: 'eu' },
      namespace: 'shop',
      name,
      catalogEntry: 'app',
      version,
      newestAllowed: '6.6.0',
      isUpgradeAvailable,
      fetchedAt: expect.stringMatching(/Z$/),
      deprecated: deprecation,
    });
    const { body } = await plane.call('GET', '/catalog/app/upgrades');
    expect(body).toEqual({ items: [one('new', '6.6.0', false), one('old', '6.5.0', true)] });
    const first = await plane.call('GET', '/clusters/eu/upgrades?limit=2');
    expect(first.body['items']).toEqual([one('new', '6.6.0', false), one('old', '6.5.0', true)]);
    const next = await plane.call('GET', `/clusters/eu/upgrades?cursor=${first.body['nextCursor']}`);
    expect(next.body).toMatchObject({
      items: [{ name: 'other', catalogEntry: 'unlisted', version: '6.5.0', isUpgradeAvailable: false }],
    });
    expect(next.body['items'][0]['newestAllowed']).toBeUndefined();
    expect((await plane.call('GET', '/clusters/us/upgrades')).body).toMatchObject({
      items: [{ cluster: { id: us }, name: 'moved', catalogEntry: 'unlisted', version: '6.6.0' }],
    });
  });

  it('warn of an entry that is deprecated, with install, update and dry run, and refuse nothing', async () => {
    const warnings = [
      { path: '/catalogEntry', message: 'the catalog entry app is deprecated: it is too old; use podinfo' },
    ];
    const request = { ...INSTALL, name: 'warned', catalogEntry: 'app' };
    const dry = await plane.call('POST', '/clusters/eu/intents', { ...request, dryRun: true });
    expect(dry).toMatchObject({ status: 200, body: { violations: [], warnings } });
    const headers = { 'idempotency-key': 'a-key' };
    for (const _once of ['first', 'again']) {
      const answer = await plane.call('POST', '/clusters/eu/intents', request, { headers });
      expect(answer).toMatchObject({ status: 202, body: { state: 'accepted', warnings } });
    }
    const update = { action: 'update', namespace: 'shop', name: 'warned', values: { replicas: 2 } };
    expect((await plane.call('POST', '/clusters/eu/intents', update)).body['warnings']).toEqual(warnings);
    const other = { ...INSTALL, name: 'not-warned', catalogEntry: 'unlisted' };
    expect((await plane.call('POST', '/clusters/eu/intents', other)).body['warnings']).toBeUndefined();
  });
});

describe('DELETE /catalog/{name}', () => {
  it('names the clusters that list it and the instances that stand, and deletes what nothing uses', async () => {
    const before = await plane.call('DELETE', '/catalog/app');
    expect(before).toMatchObject({
      status: 409,
      body: { error: 'conflict', clusters: ['eu', 'us'] },
    });
    expect(before.body['message']).toMatch(
      /^the catalog entry app is in use \(clusters list it: eu, us; instances of it stand: eu shop\/new, eu shop\/old/,
    );
    for (const cluster of ['eu', 'us'])
      await plane.call('PATCH', `/clusters/${cluster}`, { allowedCatalogEntries: [] });
    const standing = await plane.call('DELETE', '/catalog/app');
    expect(standing.body).toMatchObject({ clusters: [], instances: expect.arrayContaining(['eu shop/old']) });
    await put('unused');
    await plane.call('GET', '/catalog/unused/versions?refresh=true');
    expect(await plane.call('DELETE', '/catalog/unused')).toMatchObject({ status: 204 });
    expect(await plane.call('DELETE', '/catalog/unused')).toMatchObject({ status: 404 });
    expect(plane.query("SELECT * FROM chart_versions WHERE entry = 'unused'")).toEqual([]);
    expect(await audited('CatalogEntryDeleted')).toEqual([`catalog entry unused deleted: oci ${registry.oci().url}`]);
  });
});

describe('an entry', () => {
  it('keeps who must approve it, its deprecation, and gives both back', async () => {
    const more = { approval: { count: 2, roles: { security: 1 } }, deprecation: { message: 'old' } };
    expect((await put('approved', more)).body).toMatchObject(more);
    expect(await audited('CatalogEntryUpdated')).toContain(
      `catalog entry approved: oci ${registry.oci().url}, versions 6.x, approval by 2, deprecated`,
    );
    expect((await put('approved')).body).not.toHaveProperty('approval');
    expect((await plane.call('GET', '/catalog/approved')).body).not.toHaveProperty('deprecation');
  });
});
