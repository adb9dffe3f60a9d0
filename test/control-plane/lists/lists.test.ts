import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane, type Answer } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let foreign: string;

const CLUSTERS: Readonly<Record<string, Record<string, string>>> = {
  'dev-eu': { env: 'dev', team: 'shop' },
  'prod-ap': { env: 'prod', team: 'pay' },
  'prod-eu': { env: 'prod', team: 'shop', 'example.com/tier': 'gold' },
  lab: {},
};

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  foreign = plane.addOrganization('other');
  await plane.putPodinfo();
  for (const [slug, labels] of Object.entries(CLUSTERS)) {
    await plane.newCluster(slug, { labels, displayName: `The ${slug} cluster`, connectivityMode: 'gitops' });
  }
  const accepted = await plane.call('POST', '/clusters/prod-eu/intents', { ...INSTALL, reason: 'the shop opens' });
  await plane.until(String(accepted.body['id']), 'delivered');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function slugs(query: string, token?: string): Promise<string[]> {
  const { status, body } = await plane.call(
    'GET',
    `/clusters?fields=summary&${query}`,
    undefined,
    token === undefined ? {} : { token },
  );
  expect([status, body['error']]).toEqual([200, undefined]);
  return body['items'].map(({ slug }: { slug: string }) => slug);
}

function faultOf({ status, body }: Answer): unknown[] {
  return [status, body['faults']?.[0]?.path, body['faults']?.[0]?.message];
}

describe('labels of a cluster', () => {
  it('are merged by PATCH, taken away by null, audited, and gone with the cluster', async () => {
    await plane.newCluster('short-lived', { labels: { env: 'dev', owner: 'me' } });
    const { body } = await plane.call('PATCH', '/clusters/short-lived', { labels: { env: null, team: 'x' } });
    expect(body['labels']).toEqual({ owner: 'me', team: 'x' });
    expect(await slugs('label=team%3Dx')).toEqual(['short-lived']);
    expect(await slugs('label=env%3Ddev')).toEqual(['dev-eu']);
    const audit = await plane.call('GET', '/audit?kind=ClusterUpdated&limit=1');
    expect(audit.body['items'][0].summary).toBe('cluster short-lived updated: labels');
    expect((await plane.call('DELETE', '/clusters/short-lived')).status).toBe(204);
    expect(plane.query("SELECT name FROM cluster_labels WHERE value IN ('me', 'x')")).toEqual([]);
  });

  it.each([
    [{ 'a b': 'c' }, '/labels/a b', 'is no name of a label'],
    [{ 'Example.com/team': 'c' }, '/labels/Example.com~1team', 'is no name of a label'],
    [{ team: 'shop!' }, '/labels/team', 'is no value of a label'],
    [{ team: 'a'.repeat(64) }, '/labels/team', 'is no value of a label'],
    [Object.fromEntries(Array.from({ length: 33 }, (_, place) => [`l${place}`, ''])), '/labels', 'would be 33 labels'],
  ])('refuses %j', async (labels, path, message) => {
    for (const answer of [
      await plane.call('PATCH', '/clusters/lab', { labels }),
      await plane.call('POST', '/clusters', {
        slug: 'never',
        displayName: 'never',
        allowedNamespaces: [],
        allowedCatalogEntries: [],
        allowedOperationTemplates: [],
        labels,
      }),
    ]) {
      expect(faultOf(answer)).toEqual([400, path, expect.stringContaining(message)]);
    }
    expect(await slugs('q=never')).toEqual([]);
  });
});

describe('GET /clusters', () => {
  it.each([
    ['label=team%3Dshop', ['dev-eu', 'prod-eu']],
    ['label=team%3Dshop,env!%3Ddev', ['prod-eu']],
    ['label=env!%3Dprod', ['dev-eu', 'lab']],
    ['label=env%20in%20(dev,stage)', ['dev-eu']],
    ['label=env%20notin%20(dev,stage)', ['lab', 'prod-ap', 'prod-eu']],
    ['label=!env', ['lab']],
    ['label=example.com/tier', ['prod-eu']],
    ['q=EU', ['dev-eu', 'prod-eu']],
    ['q=the%20lab', ['lab']],
    // Characters of LIKE are no wildcards.
    ['q=%25', []],
    ['q=prod_eu', []],
    ['mode=push', []],
    ['status=Pending&health=unknown&mode=gitops&label=team', ['dev-eu', 'prod-ap', 'prod-eu']],
    ['status=Active', []],
    ['health=healthy', []],
  ])('finds by %s', async (query, expected) => {
    expect(await slugs(query)).toEqual(expected);
    const whole = await plane.call('GET', `/clusters?${query}`);
    expect(whole.body['items'].map(({ slug }: { slug: string }) => slug)).toEqual(expected);
  });

  it('says of a selector where it is wrong', async () => {
    expect(faultOf(await plane.call('GET', '/clusters?label=team%3Dshop,,'))).toEqual([
      400,
      '/label',
      'needs the name of a label here, at character 11, where "," stands; like team=shop,env!=dev,tier in (a,b),!retired',
    ]);
  });

  it('keeps its pages while clusters are added before and behind', async () => {
    const first = await plane.call('GET', '/clusters?fields=summary&limit=2');
    expect(first.body['items'].map(({ slug }: { slug: string }) => slug)).toEqual(['dev-eu', 'lab']);
    await plane.newCluster('aaa');
    await plane.newCluster('pre-eu');
    const rest = await slugs(`limit=10&cursor=${first.body['nextCursor']}`);
    expect(rest).toEqual(['pre-eu', 'prod-ap', 'prod-eu']);
    for (const slug of ['aaa', 'pre-eu']) await plane.call('DELETE', `/clusters/${slug}`);
  });
});

it('counts the fleet, by a label too', async () => {
  const { body } = await plane.call('GET', '/fleet?groupBy=team');
  expect(body['clusters'].total).toBe(4);
  expect(body['clusters'].byHealth).toEqual({ healthy: 0, progressing: 0, degraded: 0, unreachable: 0, unknown: 4 });
  expect(body['clusters'].byMode).toEqual({ pull: 0, push: 0, gitops: 4 });
  expect(body['intents']).toEqual({ waiting: 1, byState: { accepted: 0, proposed: 0, delivered: 1, applied: 0 } });
  expect(body['groups'].map((group: Record<string, unknown>) => [group['value'], group['clusters']])).toEqual([
    ['shop', 2],
    [undefined, 1],
    ['pay', 1],
  ]);
  const filtered = await plane.call('GET', '/fleet?label=env%3Dprod');
  expect([filtered.body['clusters'].total, filtered.body['groups']]).toEqual([2, undefined]);
});

it('lists applications of the organization, of a cluster, and one with its conditions', async () => {
  const expected = {
    clusterSlug: 'prod-eu',
    namespace: 'shop',
    name: 'podinfo',
    catalogEntry: 'podinfo',
    version: '6.5.0',
    state: 'delivered',
    health: 'progressing',
    generation: 1,
    action: 'install',
    requestedBy: 'admin',
  };
  for (const path of [
    '/applications?cluster=prod-eu&namespace=shop&catalogEntry=podinfo&state=delivered&health=progressing&q=pod',
    '/clusters/prod-eu/applications',
  ]) {
    const { body } = await plane.call('GET', path);
    expect(body['items']).toEqual([expect.objectContaining(expected)]);
  }
  const one = await plane.call('GET', '/clusters/prod-eu/applications/shop/podinfo');
  expect(one.body).toEqual(expect.objectContaining({ ...expected, conditions: [] }));
  const none = await plane.call('GET', '/clusters/prod-eu/applications/shop/other');
  expect([none.status, none.body['message']]).toEqual([404, 'there is no application shop/other on cluster prod-eu']);
});

it('lists the intents of the organization by what is asked of them', async () => {
  const ids = async (query: string): Promise<unknown[]> =>
    (await plane.call('GET', `/intents?${query}`)).body['items'].map(
      (item: Record<string, string>) => `${item['clusterSlug']} ${item['name']} ${item['state']}`,
    );
  const one = ['prod-eu podinfo delivered'];
  const since = encodeURIComponent('2020-01-01T00:00:00+01:00');
  expect(await ids(`cluster=prod-eu&state=delivered&action=install&requestedBy=admin&since=${since}`)).toEqual(one);
  expect(await ids('namespace=shop&name=podinfo')).toEqual(one);
  expect(await ids('since=2100-01-01T00:00:00Z')).toEqual([]);
  expect(await ids('cluster=lab')).toEqual([]);
  expect((await plane.call('GET', '/intents?since=yesterday')).status).toBe(400);
});

it('shows another organization nothing, and takes no cursor of another list', async () => {
  const lists = ['/clusters', '/applications', '/intents', '/operations', '/jobs', '/saved-filters', '/search?q=pod'];
  for (const path of lists) {
    const { body } = await plane.call('GET', path, undefined, { token: foreign });
    expect([path, body['items']]).toEqual([path, []]);
  }
  expect(await slugs('label=team', foreign)).toEqual([]);
  const fleet = await plane.call('GET', '/fleet?groupBy=team', undefined, { token: foreign });
  expect([fleet.body['clusters'].total, fleet.body['intents'].waiting, fleet.body['groups']]).toEqual([0, 0, []]);
  for (const path of ['/clusters/prod-eu/applications', '/applications?cluster=prod-eu', '/jobs?cluster=prod-eu']) {
    expect((await plane.call('GET', path, undefined, { token: foreign })).status).toBe(404);
  }
  const cursor = (key: unknown): string => Buffer.from(JSON.stringify(key)).toString('base64url');
  for (const [path, key] of [
    ['/clusters', ['a', 'b']],
    ['/applications', ['a', 'b']],
    ['/applications', ['a', 'b', 'c', 'applications by name']],
    ['/applications?q=a', ['a', 'b', 'c', 'applications']],
    ['/intents', ['a', 'b', 'jobs']],
    ['/operations', ['a', 'b', 'intents']],
    ['/jobs', ['a', 'b']],
    ['/saved-filters', ['a', 'b', 'c']],
  ] as const) {
    const answer = await plane.call('GET', `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor(key)}`);
    expect(faultOf(answer)).toEqual([400, '/cursor', expect.stringContaining('is not a cursor of this list')]);
  }
});
