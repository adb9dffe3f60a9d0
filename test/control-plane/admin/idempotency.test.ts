import { afterAll, beforeAll, expect, test } from 'vitest';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function post(path: string, body: unknown, key: string, token?: string): Promise<Answer> {
  const options = { headers: { 'idempotency-key': key }, ...(token === undefined ? {} : { token }) };
  return await plane.call('POST', path, body, options);
}

const TOKEN = { name: 'ci', expiresInSeconds: 600 };
const clusters = async (): Promise<number> => (await plane.call('GET', '/clusters')).body['items'].length;
const cluster = (slug: string) => ({
  slug,
  displayName: slug,
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: [],
  allowedOperationTemplates: [],
  connectivityMode: 'pull',
});

test('gives the first answer again, with the token that is shown once', async () => {
  const first = await post('/admin-tokens', TOKEN, 'again');
  expect(first.status).toBe(201);
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  const again = await post('/admin-tokens', { expiresInSeconds: 600, name: 'ci' }, 'again');
  expect(again).toMatchObject({ status: 201, body: first.body });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.headers.get('content-type')).toBe('application/json');
  expect(plane.query("SELECT kind FROM audit WHERE kind = 'AdminTokenIssued'").length).toBeLessThan(2);
});

test('keeps an answer sealed', async () => {
  const made = await post('/admin-tokens', { ...TOKEN, name: 'sealed' }, 'sealed');
  const rows = JSON.stringify(plane.query('SELECT * FROM request_answers'));
  expect(made.body['token']).toMatch(/^svcadm_/);
  expect(rows).not.toContain(made.body['token']);
});

test('refuses another request under the same key', async () => {
  expect((await post('/clusters', cluster('one'), 'one-key')).status).toBe(201);
  const before = await clusters();
  for (const [path, body] of [
    ['/clusters', cluster('two')],
    ['/clusters/one/disable', undefined],
  ] as const) {
    expect(await post(path, body, 'one-key')).toMatchObject({ status: 409, body: { error: 'conflict' } });
  }
  expect(await clusters()).toBe(before);
});

test('takes the same key of somebody else as theirs', async () => {
  const { body } = await plane.call('POST', '/admin-tokens', { name: 'somebody-else', expiresInSeconds: 600 });
  expect((await post('/clusters', cluster('mine'), 'shared-key')).status).toBe(201);
  const theirs = await post('/clusters', cluster('theirs'), 'shared-key', String(body['token']));
  expect(theirs.status).toBe(201);
  expect(theirs.body['cluster'].slug).toBe('theirs');
});

test('carries out one of many that come at once', async () => {
  const before = await clusters();
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => await post('/clusters', cluster('burst'), 'burst')),
  );
  const made = answers.filter(({ status }) => status === 201);
  expect(made.length).toBeGreaterThan(0);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expect(answer).toMatchObject({ status: 409, body: { error: 'conflict' } });
    expect(answer.body['message']).toContain('still being carried out');
    expect(answer.headers.get('retry-after')).toBe('2');
  }
  expect(made.filter((answer) => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1);
  expect(await clusters()).toBe(before + 1);
});

test('frees the key of what was refused', async () => {
  expect((await post('/clusters/later/disable', undefined, 'refused')).status).toBe(404);
  await plane.call('POST', '/clusters', cluster('later'));
  const answer = await post('/clusters/later/disable', undefined, 'refused');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
});

test.each(['', 'two words', 'ü', 'x'.repeat(256)])('refuses the key %j', async (key) => {
  const before = await clusters();
  const answer = await fetch(`${plane.url}/api/v1/clusters`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${plane.token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(cluster('never')),
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ faults: [{ path: '/headers/idempotency-key' }] });
  expect(await clusters()).toBe(before);
});

test('says where to look when nobody knows how a request ended', async () => {
  expect((await post('/clusters', cluster('unsure'), 'unsure')).status).toBe(201);
  // As after a crash between the effect and its kept answer, long enough ago for every replica.
  await plane.execute(
    "UPDATE request_answers SET answer_sealed = NULL, answered_at = NULL, created_at = ? WHERE request_key = 'unsure'",
    new Date(Date.now() - 200_000).toISOString(),
  );
  const answer = await post('/clusters', cluster('unsure'), 'unsure');
  expect(answer).toMatchObject({ status: 409, body: { error: 'conflict' } });
  expect(answer.body['message']).toContain('GET /api/v1/audit?actor=admin&since=');
  expect(answer.headers.get('retry-after')).toBeNull();
});

test('forgets a key after a day', async () => {
  await plane.call('POST', '/clusters', cluster('old'));
  expect((await post('/clusters/old/disable', undefined, 'old')).status).toBe(200);
  await plane.execute(
    "UPDATE request_answers SET created_at = ? WHERE request_key = 'old'",
    new Date(Date.now() - 86_401_000).toISOString(),
  );
  const answer = await post('/clusters/old/enable', undefined, 'old');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
});

test('gives the answer of a token to no other token of that name, nor to one that may do less', async () => {
  const ask = async (name: string, scopes?: readonly string[]): Promise<string> => {
    const body = { name, member: 'anna', ...(scopes === undefined ? {} : { scopes }) };
    return String((await plane.call('POST', '/admin-tokens', body)).body['token']);
  };
  expect((await plane.call('POST', '/members', { name: 'anna', access: ['admin'] })).status).toBe(201);
  const [whole, limited] = [await ask('anna-all'), await ask('anna-some', ['read', 'organization'])];
  const made = await post('/admin-tokens', { name: 'root2' }, 'k1', whole);
  expect(made.status).toBe(201);
  const replayed = await post('/admin-tokens', { name: 'root2' }, 'k1', limited);
  expect(replayed).toMatchObject({ status: 409, body: { error: 'conflict' } });
  expect(JSON.stringify(replayed.body)).not.toContain('svcadm_');
});
