import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PODINFO, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('the catalog', () => {
  it('stores an entry, gives it back, and tells every cluster of the organization', async () => {
    const id = await plane.newCluster('prod-eu');
    const revision = () => plane.query('SELECT config_revision AS r FROM clusters WHERE id = ?', id);
    expect(await plane.call('PUT', '/catalog/podinfo', PODINFO)).toMatchObject({
      status: 200,
      body: { name: 'podinfo', ...PODINFO, updatedAt: expect.any(String) },
    });
    expect((await plane.call('GET', '/catalog/podinfo')).body).toMatchObject({ name: 'podinfo', ...PODINFO });
    expect(revision()).toEqual([{ r: 2 }]);
    await plane.call('PUT', '/catalog/podinfo', PODINFO);
    expect(revision()).toEqual([{ r: 2 }]);
    await plane.call('PUT', '/catalog/podinfo', { ...PODINFO, versions: '6.x' });
    expect(revision()).toEqual([{ r: 3 }]);
    const audit = await plane.call('GET', '/audit?kind=CatalogEntryUpdated');
    expect(audit.body['items']).toHaveLength(2);
  });

  it('hands out no credential that stands in an address since an earlier version', async () => {
    await plane.call('PUT', '/catalog/private', { ...PODINFO, chart: { ...PODINFO.chart, url: 'oci://x/y' } });
    const chart = { ...PODINFO.chart, url: 'oci://user:hunter2@x/y?token=hunter2' };
    const text = JSON.stringify(chart);
    await plane.execute("UPDATE catalog_entries SET chart = ? WHERE name = 'private'", text);
    await plane.execute(
      "UPDATE audit SET summary = ? WHERE summary LIKE 'catalog entry private:%'",
      'catalog entry private: oci oci://user:hunter2@x/y, versions 6.x',
    );
    await plane.newCluster('reader', { allowedCatalogEntries: ['private'] });
    const { body: issued } = await plane.call('POST', '/clusters/reader/registration-token');
    const register = { token: issued['registrationToken'] };
    const { body: agent } = await plane.call('POST', '/api/agent/register', register, { token: null });
    const token = String(agent['token']);
    const config = await plane.call('GET', '/api/agent/config', undefined, { token });
    expect(config.body['catalog_entries']).toMatchObject([{ entry: 'private', chart: { url: 'oci://x/y' } }]);
    const seen = [
      config.body,
      ...(await Promise.all(
        ['/catalog/private', '/catalog', '/audit'].map(async (path) => (await plane.call('GET', path)).body),
      )),
    ];
    expect(JSON.stringify(seen)).not.toContain('hunter2');
    await plane.call('PUT', '/catalog/private', PODINFO);
    await plane.execute("DELETE FROM catalog_entries WHERE name = 'private'");
  });

  it('pages by name', async () => {
    await plane.call('PUT', '/catalog/another', PODINFO);
    const first = await plane.call('GET', '/catalog?limit=1');
    expect(first.body['items']).toMatchObject([{ name: 'another' }]);
    const next = await plane.call('GET', `/catalog?limit=1&cursor=${first.body['nextCursor']}`);
    expect(next.body).toMatchObject({ items: [{ name: 'podinfo' }] });
    expect(next.body['nextCursor']).toBeUndefined();
  });

  it.for([
    ['an unknown field', { ...PODINFO, version: '6.5.0' }, '/version'],
    ['an unknown field of the chart', { ...PODINFO, chart: { ...PODINFO.chart, tag: 'x' } }, '/chart/tag'],
    ['a chart without its name', { ...PODINFO, chart: { type: 'oci', url: 'oci://a/b' } }, '/chart/name'],
    ['a range that is none', { ...PODINFO, versions: 'latest' }, '/versions'],
    ['an OCI chart at an https address', { ...PODINFO, chart: { ...PODINFO.chart, url: 'https://a/b' } }, '/chart/url'],
    ['a Helm chart at an oci address', { ...PODINFO, chart: { ...PODINFO.chart, type: 'helm' } }, '/chart/url'],
    ['a user in the address', { ...PODINFO, chart: { ...PODINFO.chart, url: 'oci://user:pw@x/y' } }, '/chart/url'],
    ['a token in the address', { ...PODINFO, chart: { ...PODINFO.chart, url: 'oci://x/y?token=pw' } }, '/chart/url'],
    [
      'a user in the address of a Helm repository',
      { ...PODINFO, chart: { type: 'helm', url: 'https://user@x', name: 'y' } },
      '/chart/url',
    ],
    [
      'a user behind backslashes',
      { ...PODINFO, chart: { type: 'helm', url: 'https:\\\\user:pw@x/y', name: 'y' } },
      '/chart/url',
    ],
    ['default values that are a list', { ...PODINFO, defaultValues: [] }, '/defaultValues'],
    ['an approval that says no number', { ...PODINFO, approval: { required: true } }, '/approval/count'],
    ['a deprecation without words', { ...PODINFO, deprecation: { replacement: 'x' } }, '/deprecation/message'],
    ['a deprecation of two lines', { ...PODINFO, deprecation: { message: 'old\nuse' } }, '/deprecation/message'],
    [
      'an address without a repository',
      { ...PODINFO, chart: { type: 'oci', url: 'oci://host', name: 'podinfo' } },
      '/chart/url',
    ],
    [
      'a replacement that is the entry itself',
      { ...PODINFO, deprecation: { message: 'old', replacement: 'refused' } },
      '/deprecation/replacement',
    ],
    ['a credential', { ...PODINFO, credentials: { username: 'a', password: 'b' } }, '/credentials'],
    [
      'a schema with a broken pattern',
      { ...PODINFO, valuesSchema: { properties: { a: { type: 'string', pattern: '(' } } } },
      '/valuesSchema/properties/a/pattern',
    ],
    [
      'default values that break the schema',
      { ...PODINFO, defaultValues: { a: 1 }, valuesSchema: { properties: { a: { type: 'string' } } } },
      '/defaultValues/a',
    ],
  ] as const)('refuses %s', async ([, body, path]) => {
    const answer = await plane.call('PUT', '/catalog/refused', body);
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated' } });
    expect(answer.body['faults'].map((fault: { path: string }) => fault.path)).toContain(path);
    expect(await plane.call('GET', '/catalog/refused')).toMatchObject({ status: 404, body: { error: 'not_found' } });
  });

  it('tells every fault of an entry at once', async () => {
    const chart = { type: 'oci', url: 'https://x/y', name: 'y' };
    const deprecation = { message: 'old', replacement: 'refused' };
    const answer = await plane.call('PUT', '/catalog/refused', { chart, versions: 'latest', deprecation });
    expect(answer.body['faults'].map((fault: { path: string }) => fault.path)).toEqual([
      '/versions',
      '/chart/url',
      '/deprecation/replacement',
    ]);
  });

  it('tells of an entry with mistakes in its form what is wrong besides', async () => {
    const answer = await plane.call('PUT', '/catalog/refused', {
      chart: { type: 'oci', url: 'https://x/y', name: 'y' },
      version: '1',
      versions: 'latest',
      deprecation: 'old',
      defaultValues: { a: 1 },
      valuesSchema: { properties: { a: { type: 'string' } } },
    });
    const paths = answer.body['faults'].map((fault: { path: string }) => fault.path);
    expect(paths.toSorted()).toEqual(['/chart/url', '/defaultValues/a', '/deprecation', '/version', '/versions']);
  });

  it('takes defaults that lack what each intent must give', async () => {
    const valuesSchema = { type: 'object', required: ['host'], properties: { host: { type: 'string' } } };
    expect((await plane.call('PUT', '/catalog/needs-host', { ...PODINFO, valuesSchema })).status).toBe(200);
  });

  it('ends a page before it is too large to answer, and goes on behind it', async () => {
    const token = plane.addOrganization('heavy');
    const names = Array.from({ length: 12 }, (_, at) => `heavy-${String(at).padStart(2, '0')}`);
    const body = { ...PODINFO, defaultValues: { text: 'x'.repeat(1_000_000) } };
    for (const name of names) expect((await plane.call('PUT', `/catalog/${name}`, body, { token })).status).toBe(200);
    const first = await plane.call('GET', '/catalog?limit=500', undefined, { token });
    const next = await plane.call('GET', `/catalog?limit=500&cursor=${first.body['nextCursor']}`, undefined, { token });
    expect(first.body['items'].length).toBeLessThan(12);
    const items = [...first.body['items'], ...next.body['items']];
    expect(items.map(({ name }: { name: string }) => name)).toEqual(names);
    expect(next.body['nextCursor']).toBeUndefined();
  });
});
