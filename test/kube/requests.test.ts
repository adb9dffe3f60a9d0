import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError, type ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { hurriedClock, inTurn, json, missing, startStubServer, type Handler, type StubServer } from './stub-server.ts';

const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' } as const;
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } };

let server: StubServer;
let api: ClusterApi & AsyncDisposable;

beforeEach(async () => {
  server = await startStubServer();
  hurriedClock.waits.length = 0;
  api = connect();
});

afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function connect(yaml = server.kubeconfig()): ClusterApi & AsyncDisposable {
  const kubeconfig = { kind: 'text', yaml } as const;
  return connectCluster({ kubeconfig, userAgent: 'test', clock: hurriedClock, random: () => 0 });
}

async function fault(work: Promise<unknown>): Promise<KubeError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubeError)) throw new Error(`not a KubeError: ${String(error)}`);
  return error;
}

const reset: Handler = (request) => void request.socket.destroy();
const html: Handler = (_request, response) =>
  void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>\n<h1>Bad  Gateway</h1></html>');

describe('a request', () => {
  it('answers undefined for an object that the server says is not there', async () => {
    server.handle(json(404, missing('a')));
    expect(await api.get(CONFIG_MAP)).toBeUndefined();
    expect(await api.delete(CONFIG_MAP)).toBe(false);
  });

  it('never takes a 404 for a whole path as an object that is not there', async () => {
    server.handle((_request, response) => void response.writeHead(404).end('404 page not found'));
    const error = await fault(api.get(CONFIG_MAP));
    expect(error).toMatchObject({ status: 404, reason: 'KindNotFound' });
    expect(error.message).toContain('no longer serves ConfigMap of v1');
    expect(await fault(api.delete(CONFIG_MAP))).toMatchObject({ reason: 'KindNotFound' });
    expect(await fault(api.list(CONFIG_MAP))).toMatchObject({ reason: 'KindNotFound' });
  });

  it('shows a proxy page as what it is, and says where it came from', async () => {
    server.handle(html);
    const error = await fault(api.create(object, 'm'));
    expect(error).toMatchObject({ status: 502, reason: 'Unknown', causes: [], retryable: true });
    expect(error.message).toBe(
      `POST ${server.url}/api/v1/namespaces/shop/configmaps: answered 502 (text/html): <html> <h1>Bad Gateway</h1></html>`,
    );
  });

  it('keeps the causes of a conflict', async () => {
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "kubectl"', field: '.data.a' }];
    server.handle(
      json(409, { kind: 'Status', code: 409, reason: 'Conflict', message: 'one conflict', details: { causes } }),
    );
    const error = await fault(api.apply(object, { fieldManager: 'm' }));
    expect(error).toMatchObject({ status: 409, reason: 'Conflict', message: 'one conflict', causes, retryable: false });
    expect(server.received).toHaveLength(1);
    expect(server.received[0]).toMatchObject({
      method: 'PATCH',
      url: '/api/v1/namespaces/shop/configmaps/a?fieldManager=m',
      contentType: 'application/apply-patch+yaml',
    });
  });

  it('repeats an idempotent call after 429, 5xx and a reset, waiting as long as the server asks', async () => {
    server.handle(inTurn(json(429, {}, { 'retry-after': '3' }), html, reset, json(200, object)));
    expect(await api.get(CONFIG_MAP)).toEqual(object);
    expect(hurriedClock.waits).toEqual([3_100, 100, 100]);
  });

  it('gives up after four repetitions', async () => {
    server.handle(html);
    expect(await fault(api.get(CONFIG_MAP))).toMatchObject({ status: 502 });
    expect(server.received).toHaveLength(5);
  });

  it('leaves a Retry-After of minutes to the caller', async () => {
    server.handle(json(503, {}, { 'retry-after': '600' }));
    expect(await fault(api.get(CONFIG_MAP))).toMatchObject({ status: 503, retryAfterSeconds: 600 });
    expect(server.received).toHaveLength(1);
  });

  it.each([
    ['create', async () => api.create(object, 'm')],
    ['merge patch', async () => api.mergePatch(CONFIG_MAP, {})],
    ['JSON patch', async () => api.jsonPatch(CONFIG_MAP, [])],
  ])('never repeats a %s, which may have been carried out', async (_name, call) => {
    server.handle(reset);
    expect(await fault(call())).toMatchObject({ status: 0, reason: 'ConnectionFailed' });
    expect(server.received).toHaveLength(1);
  });

  it('is one error with status 0 when nobody listens', async () => {
    await server[Symbol.asyncDispose]();
    const error = await fault(api.get(CONFIG_MAP));
    expect(error).toMatchObject({ status: 0, reason: 'ConnectionFailed', retryable: true });
    expect(error.message).toBe(`GET ${server.url}/api/v1: connect ECONNREFUSED 127.0.0.1:${server.port}`);
  });

  it('ends when its time is up although the server keeps silent', async () => {
    const clock = new ManualClock();
    const kubeconfig = { kind: 'text', yaml: server.kubeconfig() } as const;
    await using slow = connectCluster({ kubeconfig, userAgent: 't', clock, random: () => 0, requestTimeoutMs: 2_000 });
    const silent = Promise.withResolvers<void>();
    server.handle(() => silent.resolve());
    const asked = fault(slow.get(CONFIG_MAP));
    await silent.promise;
    clock.advance(2_000);
    expect(await asked).toMatchObject({
      status: 0,
      reason: 'RequestTimedOut',
      message: `GET ${server.url}/api/v1/namespaces/shop/configmaps/a: no answer within 2000 ms`,
    });
    expect(clock.sleeping).toBe(0);
    expect(server.received).toHaveLength(1);
  });

  it('ends when its time is up in the middle of an answer', async () => {
    const clock = new ManualClock();
    const kubeconfig = { kind: 'text', yaml: server.kubeconfig() } as const;
    await using slow = connectCluster({ kubeconfig, userAgent: 't', clock, random: () => 0, requestTimeoutMs: 2_000 });
    const begun = Promise.withResolvers<void>();
    server.handle((_request, response) => {
      response.writeHead(200).write('{"kind":', () => begun.resolve());
    });
    const asked = fault(slow.get(CONFIG_MAP));
    await begun.promise;
    clock.advance(2_000);
    expect(await asked).toMatchObject({ reason: 'RequestTimedOut' });
  });

  it('ends at once when the caller aborts', async () => {
    const stop = new AbortController();
    server.handle(() => stop.abort());
    expect(await fault(api.get(CONFIG_MAP, stop.signal))).toMatchObject({ status: 0, reason: 'Aborted' });
    expect(await fault(api.get(CONFIG_MAP, stop.signal))).toMatchObject({ reason: 'Aborted' });
    expect(server.received).toHaveLength(1);
  });

  it('refuses a success that is not JSON', async () => {
    server.handle((_request, response) => void response.writeHead(200).end('<html>login</html>'));
    expect(await fault(api.get(CONFIG_MAP))).toMatchObject({ status: 0, reason: 'AnswerUnreadable' });
  });

  it('cannot be led to another path by a name', async () => {
    server.handle(json(404, missing('a')));
    await api.get({ ...CONFIG_MAP, name: '../../../secrets/x?watch=1' });
    await api.get({ ...CONFIG_MAP, namespace: 'a/b', name: 'é' });
    expect(server.received.map(({ url }) => url)).toEqual([
      '/api/v1/namespaces/shop/configmaps/..%2F..%2F..%2Fsecrets%2Fx%3Fwatch%3D1',
      '/api/v1/namespaces/a%2Fb/configmaps/%C3%A9',
    ]);
    expect(await fault(api.get({ apiVersion: 'v1/../..', kind: 'ConfigMap', name: 'a' }))).toMatchObject({
      status: 400,
    });
    expect(await fault(api.get({ ...CONFIG_MAP, name: '' }))).toMatchObject({ status: 400 });
    expect(await fault(api.get({ apiVersion: 'v1', kind: 'ConfigMap', name: 'a' }))).toMatchObject({
      status: 400,
      message: 'configmaps need a namespace',
    });
  });

  it('names the server when it refuses the credential', async () => {
    server.handle(json(401, { kind: 'Status', code: 401, message: 'Unauthorized', reason: 'Unauthorized' }));
    const error = await fault(api.get(CONFIG_MAP));
    expect(error).toMatchObject({ status: 401, reason: 'Unauthorized' });
    expect(error.message).toBe(`GET ${server.url}/api/v1/namespaces/shop/configmaps/a: 401 Unauthorized`);
    expect(server.received).toHaveLength(1);
  });
});

describe('a list', () => {
  const page = (names: string[], next = '', resourceVersion = '7'): Handler =>
    json(200, {
      metadata: { resourceVersion, continue: next },
      items: names.map((name) => ({ metadata: { name } })),
    });
  const expired = json(410, { kind: 'Status', code: 410, reason: 'Expired', message: 'token expired' });

  it('is read page by page, and its items get the kind of the list', async () => {
    server.handle(inTurn(page(['a', 'b'], 'next one'), page(['c'])));
    const list = await api.list({ apiVersion: 'v1', kind: 'ConfigMap' }, { namespace: 'shop', labelSelector: 'x=y' });
    expect(list).toEqual({
      resourceVersion: '7',
      items: ['a', 'b', 'c'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })),
    });
    expect(server.received.map(({ url }) => url)).toEqual([
      '/api/v1/namespaces/shop/configmaps?labelSelector=x%3Dy&limit=500',
      '/api/v1/namespaces/shop/configmaps?labelSelector=x%3Dy&limit=500&continue=next+one',
    ]);
  });

  it('starts over when its token expired, and the third time is read in one piece', async () => {
    server.handle((request, response) => {
      const url = request.url ?? '';
      const handler = url.includes('continue') ? expired : url.includes('limit') ? page(['a'], 'x') : page(['a', 'b']);
      handler(request, response);
    });
    const list = await api.list({ apiVersion: 'v1', kind: 'ConfigMap' });
    expect(list.items.map((item) => item.metadata.name)).toEqual(['a', 'b']);
    expect(server.received.map(({ url }) => url.replace('/api/v1/configmaps', ''))).toEqual([
      '?limit=500',
      '?limit=500&continue=x',
      '?limit=500',
      '?limit=500&continue=x',
      '?limit=500',
      '?limit=500&continue=x',
      '',
    ]);
  });

  it('does not go round for ever on a repeated token', async () => {
    server.handle(page(['a'], 'same'));
    expect(await fault(api.list({ apiVersion: 'v1', kind: 'ConfigMap' }))).toMatchObject({
      reason: 'AnswerUnreadable',
    });
    expect(server.received).toHaveLength(2);
  });

  it.each([{}, { items: [] }, { metadata: { resourceVersion: '1' }, items: 5 }, null])(
    'is not taken for empty when the answer is %j',
    async (answer) => {
      server.handle(json(200, answer));
      expect(await fault(api.list({ apiVersion: 'v1', kind: 'ConfigMap' }))).toMatchObject({
        reason: 'AnswerUnreadable',
      });
    },
  );
});
