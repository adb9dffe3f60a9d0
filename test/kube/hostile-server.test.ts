import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError, type ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { listPages } from '../../src/kube/list-pages.ts';
import { SecretFilter } from '../../src/kube/secret-filter.ts';
import { kubeconfigOf, startStubServer, hurriedClock, json, type Handler, type StubServer } from './stub-server.ts';

const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' } as const;
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.c29tZWJvZHktaW4tcGFydGljdWxhcg.kq3Xw_not-a-signature-at-all';
const NEVER = new AbortController().signal;

let server: StubServer;
let api: ClusterApi & AsyncDisposable;

beforeEach(async () => {
  server = await startStubServer();
  api = connect(1024 * 1024);
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function connect(maxAnswerBytes: number, user: Record<string, unknown> = { token: TOKEN }): typeof api {
  const kubeconfig = { kind: 'text', yaml: kubeconfigOf(server.url, user) } as const;
  return connectCluster({ kubeconfig, userAgent: 'test', clock: hurriedClock, random: () => 0, maxAnswerBytes });
}

async function fault(work: Promise<unknown>): Promise<KubeError> {
  const error = await work.catch((reason: unknown) => reason);
  if (!(error instanceof KubeError)) throw new Error(`not a KubeError: ${String(error)}`);
  return error;
}

const status = (message: string, causes: unknown = []): unknown => ({
  kind: 'Status',
  code: 422,
  reason: 'Invalid',
  message,
  details: { causes },
});
const plain =
  (code: number, body: string): Handler =>
  (_request, response) =>
    void response.writeHead(code, { 'content-type': 'text/plain' }).end(body);

describe('a server that echoes the credential', () => {
  const encodings: Readonly<Record<string, (header: string) => string>> = {
    'as it is': (header) => header,
    'in base64': (header) => Buffer.from(header).toString('base64'),
    'in base64, one byte on': (header) => Buffer.from(`x${header}`).toString('base64'),
    'in base64 for URLs': (header) => Buffer.from(`xy${header}`).toString('base64url'),
    'in a URL': (header) => `https://login.example.com/?return=${encodeURIComponent(header)}`,
    'in part': (header) => header.slice(20, 60),
  };

  it.each(Object.keys(encodings))('never has it in an error: %s', async (name) => {
    const echoed = encodings[name]?.(`Bearer ${TOKEN}`) ?? '';
    const causes = [{ message: `conflict with "${echoed}"`, field: `.spec.${echoed}`, reason: echoed }];
    const answers: Handler[] = [
      json(422, status(`you sent ${echoed} here`, causes)),
      plain(422, `<pre>authorization: ${echoed}</pre>`),
      plain(200, `{"authorization": ${echoed}`),
      plain(200, `{"type":"ERROR","object":${JSON.stringify(status(echoed))}}\n`),
      plain(200, `${echoed}\n`),
    ];
    for (const [index, answer] of answers.entries()) {
      server.handle(answer);
      const watch = async (): Promise<void> => {
        for await (const event of api.watch(CONFIG_MAP, { resourceVersion: '1' }, NEVER)) void event;
      };
      const shown = inspect(await fault(index < 3 ? api.get(CONFIG_MAP) : watch()), { depth: 9, showHidden: true });
      const pieces = Array.from({ length: echoed.length - 15 }, (_, at) => echoed.slice(at, at + 16));
      const secret = pieces.filter((piece) => !/login|example|return|Bearer/.test(piece));
      // Of what is no event at all only the beginning is shown.
      expect(index === 4 || shown.includes('[redacted]')).toBe(true);
      expect(secret.filter((piece) => shown.includes(piece))).toEqual([]);
    }
  });

  it('nor a key, a short password, or what is no secret of this connection and looks like one', () => {
    const filter = new SecretFilter();
    const lines = [1, 2, 3].map((n) => `MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAo${n}`);
    const pem = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
    for (const secret of [pem, 'hunter2', 'bob:hunter2']) filter.add(secret);
    for (const text of [
      `key ${pem}`,
      `key ${lines[1]}`,
      JSON.stringify(pem),
      Buffer.from(pem).toString('base64'),
      'password hunter2',
      `Proxy-Authorization: Basic ${Buffer.from('bob:hunter2').toString('base64')}`,
      'http://carol:swordfish@proxy.example.com/ refused',
      `Bearer ${'z'.repeat(20)}`,
    ]) {
      expect(filter.clean(text)).toMatch(/^[\w: ="/\\-]*.?\[redacted\]/);
      expect(filter.clean(text)).not.toMatch(/hunter2|swordfish|zzzz|MIIEv|Ym9i|kqhkiG9w0BAQEF/);
    }
    expect(filter.clean('Basic authentication is not taken here')).toBe('Basic authentication is not taken here');
  });
});

describe('a message of a server', () => {
  it('is one bounded line without control characters, and keeps manager and field of a conflict', async () => {
    const message = `first\n\tsecond\u001B[31mred\u0007 \u202Eback ${'y'.repeat(100_000)}`;
    const causes = [{ message: `conflict with "kubectl"${' '.repeat(9000)}`, field: '.spec.a\u0000' }, null, 7, {}];
    server.handle(json(422, status(message, causes)));
    const error = await fault(api.apply({ ...CONFIG_MAP, metadata: CONFIG_MAP }, { fieldManager: 'm' }));
    expect(error.message.slice(0, 30)).toBe('first | second [31mred   back ');
    expect(error.message).toHaveLength(1001);
    expect(error.causes).toEqual([{ message: 'conflict with "kubectl"', field: '.spec.a ' }, {}]);
  });

  it.each([
    { message: 7 },
    { details: 7 },
    { details: { causes: 'x' } },
    { reason: {} },
    { code: 'x' },
    { message: null },
  ])('may be of any shape: %j', async (odd) => {
    server.handle(json(422, { ...(status('m') as object), ...odd }));
    expect(await fault(api.get(CONFIG_MAP))).toMatchObject({ status: 422, reason: 'Invalid' });
  });
});

describe('an answer without end', () => {
  it.each([200, 422])('is not read on (%i)', async (code) => {
    let sent = 0;
    server.handle((_request, response) => {
      response.writeHead(code, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && sent < 256 * 1024 * 1024) {
          sent += 65_536;
          if (!response.write(Buffer.alloc(65_536, 'x'))) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const error = await fault(api.get(CONFIG_MAP));
    expect(error).toMatchObject({ status: 0, reason: 'AnswerTooLarge' });
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('is no list: not in ever more pages, and not beyond what was asked for', async () => {
    let pages = 0;
    server.handle((_request, response) => {
      pages += 1;
      const items = Array.from({ length: 50 }, () => ({ metadata: { name: 'a' }, data: { a: 'x'.repeat(10_000) } }));
      json(200, { metadata: { resourceVersion: '1', continue: `t${pages}` }, items })(_request, response);
    });
    expect((await api.list(CONFIG_MAP, { atMost: 10 })).items).toHaveLength(10);
    expect(pages).toBe(1);
    expect(await fault(api.list(CONFIG_MAP))).toMatchObject({ reason: 'AnswerTooLarge' });
    expect(pages).toBeLessThan(40);
    const empty = async (_limit: number, token = ''): Promise<unknown> =>
      await Promise.resolve({
        metadata: { resourceVersion: '1', continue: `${token}x`.slice(-6) + token.length },
        items: [],
      });
    expect(await fault(listPages(CONFIG_MAP, 1, empty))).toMatchObject({ status: 0 });
  });

  it('is read by the operator in as many pages as a large cluster has', async () => {
    let page = 0;
    const readPage = async (): Promise<unknown> => {
      page += 1;
      const items = Array.from({ length: 500 }, () => ({ metadata: { name: 'a' } }));
      return await Promise.resolve({
        metadata: { resourceVersion: '1', continue: page < 400 ? `t${page}` : '' },
        items,
      });
    };
    expect((await listPages(CONFIG_MAP, 500, readPage)).items).toHaveLength(200_000);
  });

  it('is no discovery document', async () => {
    await using small = connect(100);
    expect(await fault(small.get(CONFIG_MAP))).toMatchObject({ reason: 'AnswerTooLarge' });
    const resources = Array.from({ length: 2001 }, (_, n) => ({ name: `n${n}`, kind: `K${n}` }));
    server.handle(json(200, { kind: 'APIResourceList', resources }));
    const kind = { apiVersion: 'many.example.com/v1', kind: 'K1', name: 'a' };
    expect(await fault(api.get(kind))).toMatchObject({ reason: 'AnswerTooLarge' });
  });
});

it('takes no other object for the one that it asked for', async () => {
  for (const answer of [null, 7, {}, { metadata: null }, { metadata: { name: 'b', namespace: 'shop' } }]) {
    server.handle(json(200, answer));
    expect(await fault(api.get(CONFIG_MAP))).toMatchObject({ status: 0, reason: 'AnswerUnreadable' });
  }
});
