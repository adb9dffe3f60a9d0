import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PODINFO, RunningControlPlane, type Answer } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function call(method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answer> {
  return await plane.call(method, path, body, { headers });
}
const tagOf = (answer: Answer): string => answer.headers.get('etag') ?? '';
const stale = { status: 412, body: { error: 'precondition_failed' } };

describe.each([
  ['/clusters/prod-eu', 'PATCH', { displayName: 'one' }, { displayName: 'two' }],
  ['/organization', 'PATCH', { rotationGraceSeconds: 600 }, { rotationGraceSeconds: 700 }],
  ['/catalog/podinfo', 'PUT', { ...PODINFO, versions: '>=6 <7' }, { ...PODINFO, versions: '>=6.6.0 <7' }],
  ['/operation-templates/rollout-restart', 'PUT', { deadlineSeconds: 120 }, { deadlineSeconds: 180 }],
])('%s', (path, method, one, two) => {
  test('takes an edit of what was read, and refuses one of something else', async () => {
    const read = await plane.call('GET', path);
    expect(tagOf(read)).toMatch(/^"[\w-]{16}\.[\w-]{16}"$/);
    const edited = await call(method, path, { 'if-match': tagOf(read) }, one);
    expect(edited.status).toBe(200);
    expect(tagOf(edited)).not.toBe(tagOf(read));
    expect(await call(method, path, { 'if-match': tagOf(read) }, two)).toMatchObject(stale);
    expect(tagOf(await plane.call('GET', path)).slice(0, 17)).toBe(tagOf(edited).slice(0, 17));
    expect((await call(method, path, { 'if-match': `"other", ${tagOf(edited)}` }, two)).status).toBe(200);
    expect((await call(method, path, { 'if-match': '*' }, one)).status).toBe(200);
  });

  test('answers a read of somebody who has it with nothing', async () => {
    const read = await plane.call('GET', path);
    const again = await call('GET', path, { 'if-none-match': tagOf(read) });
    expect(again).toMatchObject({ status: 304, body: {} });
    expect(tagOf(again)).toBe(tagOf(read));
    expect((await call('GET', path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('refuses what is no tag', async () => {
    for (const tag of ['', 'bare', '"open', '"a" "b"']) {
      const answer = await call(method, path, { 'if-match': tag }, one);
      expect(answer).toMatchObject({ status: 400, body: { faults: [{ path: '/headers/if-match' }] } });
    }
  });
});

test('makes what is not there, and nothing else, where that is asked for', async () => {
  const once = { 'if-none-match': '*' };
  expect((await call('PUT', '/catalog/once', once, PODINFO)).status).toBe(200);
  expect(await call('PUT', '/catalog/once', once, { ...PODINFO, versions: '>=6 <8' })).toMatchObject(stale);
  expect((await plane.call('GET', '/catalog/once')).body['versions']).toBe(PODINFO.versions);
  expect(await call('PUT', '/catalog/missing', { 'if-match': '*' }, PODINFO)).toMatchObject(stale);
  expect((await plane.call('GET', '/catalog/missing')).status).toBe(404);
});

test('deletes what was read, and not what it has become', async () => {
  await plane.call('PUT', '/catalog/deleted', PODINFO);
  const read = await plane.call('GET', '/catalog/deleted');
  await plane.call('PUT', '/catalog/deleted', { ...PODINFO, versions: '>=6 <8' });
  expect(await call('DELETE', '/catalog/deleted', { 'if-match': tagOf(read) })).toMatchObject(stale);
  const now = await plane.call('GET', '/catalog/deleted');
  expect((await call('DELETE', '/catalog/deleted', { 'if-match': tagOf(now) })).status).toBe(204);
});

test('takes an edit of a cluster that has called meanwhile', async () => {
  const read = await plane.call('GET', '/clusters/prod-eu');
  await plane.execute("UPDATE clusters SET operator_version = '9.9.9' WHERE slug = 'prod-eu'");
  const now = await plane.call('GET', '/clusters/prod-eu');
  expect(tagOf(now)).not.toBe(tagOf(read));
  expect((await call('GET', '/clusters/prod-eu', { 'if-none-match': tagOf(read) })).status).toBe(200);
  expect((await call('PATCH', '/clusters/prod-eu', { 'if-match': tagOf(read) }, { displayName: 'three' })).status).toBe(
    200,
  );
});

test('carries out nothing under a condition where there is no tag that could meet it', async () => {
  const { body } = await plane.call('POST', '/admin-tokens', { name: 'conditional', expiresInSeconds: 600 });
  for (const [method, path, header] of [
    ['DELETE', '/admin-tokens/conditional', 'if-match'],
    ['POST', '/clusters/prod-eu/disable', 'if-match'],
    ['POST', '/clusters/prod-eu/disable', 'if-none-match'],
  ] as const) {
    const refused = await call(method, path, { [header]: '"AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAA"' });
    expect([path, refused.status, refused.body['error']]).toEqual([path, 412, 'precondition_failed']);
  }
  expect((await plane.call('GET', '/me', undefined, { token: String(body['token']) })).status).toBe(200);
  expect((await plane.call('GET', '/clusters/prod-eu')).body).not.toHaveProperty('disabledAt');
});
