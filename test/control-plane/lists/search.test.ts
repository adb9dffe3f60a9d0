import { afterAll, beforeAll, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let commit: string;
let intent: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  for (const slug of ['shop-eu', 'shop', 'workshop', 'prod-ap']) await plane.newCluster(slug);
  const accepted = await plane.call('POST', '/clusters/shop-eu/intents', INSTALL);
  intent = String(accepted.body['id']);
  const delivered = await plane.until(intent, 'delivered');
  commit = String(delivered['receipt'].commit);
  const other = plane.addOrganization('other');
  await plane.call('PUT', '/catalog/shopping', { ...catalogEntry() }, { token: other });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

function catalogEntry() {
  return { chart: { type: 'oci', url: 'oci://charts.example.com/a', name: 'a' }, versions: '1.x' };
}

async function found(query: string): Promise<string[]> {
  const { status, body } = await plane.call('GET', `/search?${query}`);
  expect([status, body['error']]).toEqual([200, undefined]);
  return body['items'].map(({ kind, title }: Record<string, string>) => `${kind} ${title}`);
}

it('puts what is called so first, then what begins so, then what holds it, and nothing of another organization', async () => {
  expect(await found('q=shop')).toEqual(['cluster shop', 'cluster shop-eu', 'cluster workshop']);
  expect(await found('q=SHOP-')).toEqual(['cluster shop-eu']);
  expect(await found('q=podinfo')).toEqual(['application shop/podinfo', 'catalog podinfo']);
  expect(await found('q=shop%2Fpod')).toEqual(['application shop/podinfo']);
  expect(await found('q=other%2Fpod')).toEqual([]);
  expect(await found('q=podinfo&kind=catalog')).toEqual(['catalog podinfo']);
  expect(await found('q=%25')).toEqual([]);
  expect(await found('q=%20')).toEqual([]);
  expect(await found('q=fleet')).toEqual(['repository fleet']);
});

it('finds an intent by its id and a commit by its first characters, each with its address in the page', async () => {
  const { body } = await plane.call('GET', `/search?q=${intent}`);
  expect(body['items']).toEqual([
    {
      kind: 'intent',
      id: intent,
      title: 'install shop/podinfo',
      subtitle: 'generation 1, delivered, on shop-eu',
      clusterSlug: 'shop-eu',
      href: `#/intents/${intent}`,
    },
  ]);
  const commits = await plane.call('GET', `/search?q=${commit.slice(0, 7)}`);
  expect(commits.body['items']).toEqual([
    {
      kind: 'commit',
      id: commit,
      title: commit.slice(0, 12),
      subtitle: 'install shop/podinfo',
      clusterSlug: 'shop-eu',
      href: `#/history/fleet/commits/${commit}`,
    },
  ]);
});

it('keeps filters under names, one’s own and those that are shared', async () => {
  const put = async (name: string, body: object, token?: string) =>
    await plane.call('PUT', `/saved-filters/${name}`, body, token === undefined ? {} : { token });
  const query = 'label=env%3Dprod&health=degraded';
  const first = await put('bad-prod', { list: 'clusters', query });
  expect(first.body).toEqual(
    expect.objectContaining({ name: 'bad-prod', list: 'clusters', query, shared: false, owner: 'admin' }),
  );
  const ben = (await plane.call('POST', '/admin-tokens', { name: 'ben' })).body['token'] as string;
  const names = async (token: string): Promise<string[]> =>
    (await plane.call('GET', '/saved-filters', undefined, { token })).body['items'].map(
      ({ name, owner }: Record<string, string>) => `${owner} ${name}`,
    );
  expect(await names(ben)).toEqual([]);
  expect((await plane.call('GET', '/saved-filters/bad-prod', undefined, { token: ben })).status).toBe(404);
  await put('bad-prod', { list: 'clusters', query, shared: true });
  expect(await names(ben)).toEqual(['admin bad-prod']);
  // One's own of that name goes before it, and does not take its place.
  await put('bad-prod', { list: 'intents', query: 'state=failed' }, ben);
  expect(await names(ben)).toEqual(['admin bad-prod', 'ben bad-prod']);
  const seen = await plane.call('GET', '/saved-filters/bad-prod', undefined, { token: ben });
  expect([seen.body['owner'], seen.body['list']]).toEqual(['ben', 'intents']);
  expect((await plane.call('DELETE', '/saved-filters/bad-prod', undefined, { token: ben })).status).toBe(204);
  expect(await names(ben)).toEqual(['admin bad-prod']);
  // Saying the same again is no act.
  await put('bad-prod', { list: 'clusters', query, shared: true });
  const audit = await plane.call('GET', '/audit?kind=SavedFilterUpdated');
  expect(audit.body['items'].length).toBe(3);
  const tag = String((await plane.call('GET', '/saved-filters/bad-prod')).headers.get('etag'));
  const change = async (headers: Record<string, string>) =>
    (await plane.call('PUT', '/saved-filters/bad-prod', { list: 'clusters', query: 'q=a' }, { headers })).status;
  expect(await change({ 'if-none-match': '*' })).toBe(412);
  expect(await change({ 'if-match': tag })).toBe(200);
  expect(await change({ 'if-match': tag })).toBe(412);
  for (const body of [
    { list: 'nothing', query },
    { list: 'clusters', query: 'a b' },
    { list: 'clusters', query: 'a\nb' },
    { list: 'clusters' },
  ]) {
    expect((await put('x', body)).status).toBe(400);
  }
});
