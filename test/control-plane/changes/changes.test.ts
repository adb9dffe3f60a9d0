import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { Follower } from './follow.ts';

let plane: RunningControlPlane;
let clusterId: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** Something that changes the cluster, and how it is told. */
async function rename(displayName: string, cluster = 'prod-eu'): Promise<void> {
  expect(await plane.call('PATCH', `/clusters/${cluster}`, { displayName })).toMatchObject({ status: 200 });
}
const renamed = (id = clusterId) => ({ resource: 'clusters', id, clusterId: id });

/** At the stream's beginning: from here on nothing is missed. */
async function follow(query = '', options: Parameters<typeof Follower.open>[2] = {}): Promise<Follower> {
  const follower = await Follower.open(plane, query, options);
  expect(await follower.next()).toEqual({ event: 'comment', id: expect.any(Number) });
  return follower;
}

test('tells of an intent and of what becomes of it, without saying what it is', async () => {
  await using follower = await follow('?resource=intents');
  expect(follower.status).toBe(200);
  expect(follower.headers.get('content-type')).toBe('text/event-stream');
  expect(follower.headers.get('cache-control')).toBe('no-store');
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  const [accepted, delivered] = await follower.changes(2);
  const data = { resource: 'intents', id: body['id'], clusterId };
  expect(accepted).toEqual({ event: 'change', id: expect.any(Number), data });
  expect(delivered).toEqual({ event: 'change', id: expect.any(Number), data });
  expect(delivered?.id).toBeGreaterThan(accepted?.id ?? Infinity);
});

test('goes on where somebody left off, by the header or the query', async () => {
  await using follower = await follow('?resource=clusters');
  await rename('before the break');
  const [last] = await follower.changes(1);
  await follower[Symbol.asyncDispose]();
  await rename('during the break');
  const id = String(last?.id);
  await using byHeader = await Follower.open(plane, '?resource=clusters', { headers: { 'last-event-id': id } });
  expect((await byHeader.changes(1))[0]).toEqual({ event: 'change', id: expect.any(Number), data: renamed() });
  await using byQuery = await Follower.open(plane, `?resource=clusters&after=${id}`);
  expect((await byQuery.changes(1))[0]).toMatchObject({ event: 'change', data: renamed() });
});

test('tells somebody who was away too long to look at everything again', async () => {
  await using follower = await follow('?resource=clusters');
  await rename('the last that is kept');
  const [last] = await follower.changes(1);
  await plane.execute("DELETE FROM installation WHERE name = 'changes-trimmed'");
  await plane.execute(`INSERT INTO installation (name, value) VALUES ('changes-trimmed', '${(last?.id ?? 0) - 1}')`);
  await using behind = await Follower.open(plane, '?after=0');
  expect(await behind.next()).toEqual({ event: 'reset', id: expect.any(Number), data: {} });
  // Of another log: a database that was restored numbers again from an older end.
  await using ahead = await Follower.open(plane, `?after=${(last?.id ?? 0) + 1_000_000}`);
  expect(await ahead.next()).toEqual({ event: 'reset', id: expect.any(Number), data: {} });
  await rename('after the reset');
  expect((await ahead.until(({ data }) => data?.['resource'] === 'clusters')).at(-1)).toMatchObject({
    data: renamed(),
  });
});

test('tells of one cluster alone where that is asked for', async () => {
  const other = await plane.newCluster('prod-us');
  await using follower = await follow('?cluster=prod-us&resource=clusters');
  await rename('not this one');
  await rename('this one', 'prod-us');
  expect((await follower.changes(1))[0]).toMatchObject({ data: renamed(other) });
});

test('tells another organization nothing', async () => {
  const token = plane.addOrganization('other');
  await using theirs = await follow('', { token });
  await rename('not theirs');
  const made = await plane.call('POST', '/admin-tokens', { name: 'theirs', expiresInSeconds: 600 }, { token });
  expect(made.status).toBe(201);
  const told = await theirs.changes(2);
  expect(told.map(({ data }) => data)).toEqual([{ resource: 'audit' }, { resource: 'admin-tokens' }]);
});

test.each([
  ['?resource=nothing', '/resource'],
  ['?resource=INTENTS', '/resource'],
  ['?after=-1', '/after'],
  ['?after=now', '/after'],
  ['?other=1', '/other'],
])('refuses %s', async (query, path) => {
  const answer = await plane.call('GET', `/changes${query}`);
  expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated', faults: [{ path }] } });
});

test('refuses an id that no event has', async () => {
  const answer = await plane.call('GET', '/changes', undefined, { headers: { 'last-event-id': 'last' } });
  expect(answer).toMatchObject({ status: 400, body: { faults: [{ path: '/headers/last-event-id' }] } });
});

test('ends the stream of a token that is taken back, at once', async () => {
  const made = await plane.call('POST', '/admin-tokens', { name: 'short-lived', expiresInSeconds: 600 });
  await using follower = await follow('?resource=clusters', { token: String(made.body['token']) });
  expect((await plane.call('DELETE', '/admin-tokens/short-lived')).status).toBe(204);
  expect(await follower.next()).toBeUndefined();
});

test('holds so many streams of one name, and takes another when one has ended', async () => {
  const made = await plane.call('POST', '/admin-tokens', { name: 'many-tabs', expiresInSeconds: 600 });
  const token = String(made.body['token']);
  await using held = new AsyncDisposableStack();
  for (let count = 0; count < 32; count += 1) held.use(await Follower.open(plane, '', { token }));
  const answer = await plane.call('GET', '/changes', undefined, { token });
  expect(answer).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
  expect(answer.headers.get('retry-after')).toBe('15');
  await held.disposeAsync();
  await expect
    .poll(async () => {
      await using again = await Follower.open(plane, '', { token });
      return again.status;
    })
    .toBe(200);
});

test('ends every stream at once when the server closes', async () => {
  const closing = await RunningControlPlane.start();
  await using follower = await Follower.open(closing);
  const began = performance.now();
  const ended = (async () => {
    while ((await follower.next()) !== undefined);
    return performance.now() - began;
  })();
  await closing[Symbol.asyncDispose]();
  expect(await ended).toBeLessThan(2000);
  expect(performance.now() - began).toBeLessThan(2900);
});

test('leaves others their streams, however many tokens one organization has', async () => {
  const admin = plane.addOrganization('crowd');
  const tokens = [admin];
  for (let count = 1; count < 8; count += 1) {
    const { body } = await plane.call('POST', '/admin-tokens', { name: `crowd-${count}` }, { token: admin });
    tokens.push(String(body['token']));
  }
  await using held = new AsyncDisposableStack();
  const statuses: number[] = [];
  for (let count = 0; count < 256; count += 1) {
    const token = tokens[count % tokens.length] ?? admin;
    statuses.push(held.use(await Follower.open(plane, '', { token })).status);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(250);
  expect(new Set(statuses.slice(250))).toEqual(new Set([429]));
  expect(held.use(await Follower.open(plane)).status).toBe(200);
});
