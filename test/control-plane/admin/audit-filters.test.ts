import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let intentId: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  const clusterId = await plane.newCluster('prod-eu');
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  intentId = String(body['id']);
  const ref = (namespace: string, name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ApplicationInstance', namespace, name });
  const insert = async (at: string, summary: string, more: { ref?: string; intent?: string; actor?: string } = {}) =>
    await plane.execute(
      `INSERT INTO audit (organization_id, at, source, kind, cluster_id, actor, summary, resource_ref, intent_id)
       VALUES ((SELECT id FROM organizations WHERE name = 'default'), ?, 'agent', 'Made', ?, ?, ?, ?, ?)`,
      at,
      clusterId,
      more.actor ?? 'somebody',
      summary,
      more.ref ?? '',
      more.intent ?? '',
    );
  await plane.execute("UPDATE audit SET at = '2026-01-01T00:00:00.000Z'");
  await insert('2026-02-01T00:00:00.000Z', 'first: 100% of a_b is Ready', { ref: ref('shop', 'podinfo') });
  await insert('2026-02-02T00:00:00.000Z', 'second', { ref: ref('other', 'podinfo'), intent: intentId });
  await insert('2026-02-03T00:00:00.000Z', `third, of ${intentId}`, { actor: 'ana' });
  await plane.execute("UPDATE audit SET resource_ref = NULL WHERE resource_ref = ''");
  await plane.execute("UPDATE audit SET intent_id = NULL WHERE intent_id = ''");
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** The first word of each entry that was made here. */
async function found(query: string): Promise<string[]> {
  const { status, body } = await plane.call('GET', `/audit?${query}`);
  expect(status).toBe(200);
  const entries = body['items'] as { readonly kind: string; readonly summary: string }[];
  return entries.filter(({ kind }) => kind === 'Made').map(({ summary }) => summary.split(/\W/, 1)[0] ?? '');
}

test.each([
  ['actor=ana', ['third']],
  ['since=2026-02-02T00:00:00Z', ['third', 'second']],
  ['until=2026-02-02T00:00:00Z', ['first']],
  ['since=2026-02-02T01:00:00%2B01:00&until=2026-02-03T00:00:00Z', ['second']],
  ['resource=ApplicationInstance/shop/podinfo', ['first']],
  ['resource=ApplicationInstance/podinfo', ['second', 'first']],
  ['resource=ApplicationInstance/shop/podin', []],
  ['q=ready', ['first']],
  ['q=100%25 of', ['first']],
  ['q=a_b', ['first']],
  ['q=a%25b', []],
  ['q=_', ['first']],
])('finds by %s', async (query, expected) => {
  expect(await found(query)).toEqual(expected);
});

test('finds by intent what names it, and the acts whose text does', async () => {
  expect(await found(`intent=${intentId}`)).toEqual(['third', 'second']);
  expect(await found('intent=int-nothing')).toEqual([]);
});

test('finds by intent the act that asked for it, which names it and the slug of its cluster', async () => {
  const { body } = await plane.call('GET', `/audit?intent=${intentId}&kind=Deploy`);
  expect(body['items']).toMatchObject([{ kind: 'Deploy', intentId, clusterSlug: 'prod-eu' }]);
});

test('pages through what was found', async () => {
  const first = await plane.call('GET', '/audit?resource=ApplicationInstance/podinfo&limit=1');
  const second = await plane.call(
    'GET',
    `/audit?resource=ApplicationInstance/podinfo&limit=1&cursor=${first.body['nextCursor']}`,
  );
  expect([first, second].map(({ body }) => body['items'][0].summary.split(/\W/, 1)[0])).toEqual(['second', 'first']);
  expect(second.body['nextCursor']).toBeUndefined();
});

test.each([
  ['since=yesterday', '/since'],
  ['until=2026-13-01T00:00:00Z', '/until'],
  ['resource=podinfo', '/resource'],
  ['q=', '/q'],
])('refuses %s', async (query, path) => {
  expect(await plane.call('GET', `/audit?${query}`)).toMatchObject({ status: 400, body: { faults: [{ path }] } });
});
