import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/start-sandbox.ts';
import { StatusError } from '../../src/sandbox/status-error.ts';
import { KubeHttp, type Json } from '../support/cluster-contract/kube-http.ts';
import { ManualClock } from '../support/manual-clock.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

interface Running extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly http: KubeHttp;
}

async function start(options: SandboxOptions = {}): Promise<Running> {
  const sandbox = await startSandbox(options);
  const http = new KubeHttp(sandbox.kubeconfig());
  return {
    sandbox,
    http,
    [Symbol.asyncDispose]: async () => {
      await http[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function named(name: string): Json {
  return { metadata: { name } };
}

it('sends bookmarks at the interval it is given, with the revision of the whole server', async () => {
  const clock = new ManualClock();
  await using running = await start({ clock, bookmarkIntervalMs: 5000 });
  const { http } = running;
  const events = http.watch(`${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion=0`);
  const next = events.next();
  await expect.poll(() => clock.sleeping).toBe(2);
  const secret = await http.post('/api/v1/namespaces/default/secrets', named('elsewhere'));
  clock.advance(5000);
  expect((await next).value).toEqual({
    type: 'BOOKMARK',
    object: {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: secret.body['metadata']['resourceVersion'] },
    },
  });
});

it('marks the end of the initial events for a watch that lists', async () => {
  await using running = await start();
  const { http } = running;
  await http.post(CONFIG_MAPS, named('a'));
  const query = 'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const seen: Json[] = [];
  for await (const event of http.watch(`${CONFIG_MAPS}?${query}`)) {
    seen.push(event);
    if (event['type'] === 'BOOKMARK') break;
  }
  expect(seen).toMatchObject([
    { type: 'ADDED', object: { metadata: { name: 'a' } } },
    { type: 'BOOKMARK', object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } },
  ]);
});

it('forgets changes beyond its history limit, and only of the resource that had them', async () => {
  await using running = await start({ historyLimit: 3 });
  const { http } = running;
  const first = await http.post(CONFIG_MAPS, named('a'));
  for (let index = 0; index < 10; index += 1)
    await http.patch(`${CONFIG_MAPS}/a`, 'merge', { data: { i: String(index) } });
  const since = String(first.body['metadata']['resourceVersion']);
  const old = http.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${since}`);
  expect((await old.next()).value).toMatchObject({
    type: 'ERROR',
    object: {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/),
    },
  });
  expect((await old.next()).done).toBe(true);
  const secrets = '/api/v1/namespaces/default/secrets';
  const other = http.watch(`${secrets}?watch=true&timeoutSeconds=10&resourceVersion=${since}`).next();
  await http.post(secrets, named('s'));
  expect((await other).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 's' } } });
});

it('cuts a watcher that takes its events too slowly', async () => {
  await using running = await start({ tls: false, watchBufferBytes: 64 * 1024 });
  const { sandbox, http } = running;
  const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
  const auth = `Authorization: Bearer ${sandbox.token.expose()}`;
  socket.write(`GET ${CONFIG_MAPS}?watch=true&resourceVersion=0 HTTP/1.1\r\nHost: x\r\n${auth}\r\n\r\n`);
  await once(socket, 'readable');
  const closed = Promise.withResolvers<void>();
  // Nothing reads the socket any more while 40 MB are to be sent.
  const data = { big: 'x'.repeat(1024 * 1024) };
  for (let index = 0; index < 40; index += 1) await http.post(CONFIG_MAPS, { ...named(`big-${index}`), data });
  socket.on('close', () => closed.resolve());
  socket.on('error', () => closed.resolve());
  socket.resume();
  await closed.promise;
  expect((await http.get(`${CONFIG_MAPS}/big-39`)).status).toBe(200);
});

it('ends watches of a kind when its definition goes', async () => {
  await using running = await start();
  const { http } = running;
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
  const names = { plural: 'things', kind: 'Thing' };
  const spec = { group: 'x.example.com', scope: 'Cluster', names, versions: [version] };
  await http.post(definitions, { metadata: { name: 'things.x.example.com' }, spec });
  const things = '/apis/x.example.com/v1/things';
  await http.post(things, { apiVersion: 'x.example.com/v1', kind: 'Thing', metadata: { name: 'a' } });
  const seen: string[] = [];
  for await (const event of http.watch(`${things}?watch=true`)) {
    seen.push(String(event['type']));
    if (seen.length === 1) await http.delete(`${definitions}/things.x.example.com`);
  }
  expect(seen).toEqual(['ADDED', 'DELETED']);
});

it('refuses who has no token, a wrong one, a revoked one, and what a user may not do', async () => {
  await using running = await start();
  const { sandbox, http } = running;
  const reader = sandbox.users.add({ name: 'reader', may: ({ verb }) => verb === 'get' });
  const as = (authorization: string): Record<string, string> => ({ authorization });
  const bearer = as(`Bearer ${reader.expose()}`);
  const path = '/api/v1/namespaces/kube-system';
  expect((await http.get(path, bearer)).status).toBe(200);
  expect(await http.get(CONFIG_MAPS, bearer)).toMatchObject({
    status: 403,
    body: {
      reason: 'Forbidden',
      code: 403,
      message:
        'configmaps is forbidden: User "reader" cannot list resource "configmaps" in API group "" in the namespace "default"',
      details: { kind: 'configmaps' },
    },
  });
  sandbox.users.revoke(reader);
  expect((await http.get(path, bearer)).status).toBe(401);
  expect((await http.get(path, as('Basic abc'))).status).toBe(401);
  const bare = await start({ tls: false });
  await using _ = bare;
  const anonymous = await fetch(`${bare.sandbox.url}${path}`);
  expect([anonymous.status, ((await anonymous.json()) as Json)['message']]).toEqual([
    403,
    'namespaces "kube-system" is forbidden: User "system:anonymous" cannot get resource "namespaces" in API group "" at the cluster scope',
  ]);
  expect((await fetch(`${bare.sandbox.url}/healthz`)).status).toBe(200);
});

it('goes wrong as it is told: an answer, a lost answer, a cut, a delay', async () => {
  const clock = new ManualClock();
  await using running = await start({ clock });
  const { sandbox, http } = running;
  const posts = ({ method }: { readonly method: string }): boolean => method === 'POST';
  sandbox.faults.add({ match: posts, times: 1, respond: new StatusError(503, 'ServiceUnavailable', 'not now') });
  expect((await http.post(CONFIG_MAPS, named('a'))).status).toBe(503);
  sandbox.faults.add({ match: posts, times: 1, cut: 'before' });
  await expect(http.post(CONFIG_MAPS, named('b'))).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  sandbox.faults.add({ match: posts, times: 1, cut: 'after' });
  await expect(http.post(CONFIG_MAPS, named('c'))).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
  const list = (await http.get(CONFIG_MAPS)).body['items'] as Json[];
  expect(list.map((item) => item['metadata']['name'])).toEqual(['c']);
  const remove = sandbox.faults.add({ match: () => true, delayMs: 1000 });
  const slow = http.get(CONFIG_MAPS);
  await expect.poll(() => clock.sleeping).toBe(1);
  clock.advance(1000);
  expect((await slow).status).toBe(200);
  remove();
  expect((await http.get(CONFIG_MAPS)).status).toBe(200);
});

it('says when a revision is asked for that it has not reached', async () => {
  await using running = await start();
  expect(await running.http.get(`${CONFIG_MAPS}?resourceVersion=999999`)).toMatchObject({
    status: 504,
    body: { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
  });
});

it('answers 404, 405, 400 and 415 where a request makes no sense, and goes on', async () => {
  await using running = await start();
  const { http } = running;
  const answers = [
    await http.get('/nowhere'),
    await http.get('/api/v1/namespaces/default/absent'),
    await http.post('/api/v1/configmaps', named('a')),
    await http.send('POST', CONFIG_MAPS, { body: '{"metadata":' }),
    await http.send('POST', CONFIG_MAPS, { body: '[]' }),
    await http.send('POST', CONFIG_MAPS, { body: 'x', contentType: 'text/plain' }),
    await http.post(CONFIG_MAPS, { metadata: { name: 7 } }),
    await http.post(CONFIG_MAPS, { metadata: { name: 'a', labels: { a: 1 } } }),
    await http.get('/api/v1/namespaces/%ff/configmaps'),
    await http.post(`${CONFIG_MAPS}?dryRun=Some`, named('a')),
    await http.delete(`${CONFIG_MAPS}/a`, { propagationPolicy: 'Sideways' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 405, 400, 400, 415, 400, 400, 404, 422, 422]);
  expect((await http.post(CONFIG_MAPS, named('fine'))).status).toBe(201);
});

it('tells an audit of each write that was carried out, and of none that was refused', async () => {
  await using running = await start();
  const { http, sandbox } = running;
  const told: unknown[] = [];
  const end = sandbox.audit.listen(({ method, path, user, answer }) => {
    told.push([method, path, user, answer.kind]);
  });
  await http.post(CONFIG_MAPS, named('a'));
  await http.post(CONFIG_MAPS, named('a'));
  await http.get(`${CONFIG_MAPS}/a`);
  await http.delete(`${CONFIG_MAPS}/a`);
  await http.delete(`${CONFIG_MAPS}/a`);
  end();
  await http.post(CONFIG_MAPS, named('b'));
  expect(told).toEqual([
    ['POST', CONFIG_MAPS, 'admin', 'ConfigMap'],
    ['DELETE', `${CONFIG_MAPS}/a`, 'admin', 'Status'],
  ]);
});
