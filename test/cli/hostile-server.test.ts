import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Home, type Ended } from './home.ts';

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];
const elsewhere: string[] = [];
let home: Home;
let url: string;
let other: string;
let answer: Answering = () => undefined;

const say =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
/** What a terminal would act on. */
const EVIL = 'a\u001b]0;title\u0007\u001b[31mred\u009b2J\u202egnp\u2066x\u007f';
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const ACTING = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

async function listen(handler: Answering): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  home = new Home();
  url = await listen((request, response) => request.resume().once('end', () => answer(request, response)));
  other = await listen((request, response) => {
    elsewhere.push(`${request.method} ${request.url}`);
    say(200, { items: [] })(request, response);
  });
});
afterAll(() => {
  home[Symbol.dispose]();
  for (const server of servers) server.close();
});

async function run(line: string, then: Answering): Promise<Ended> {
  answer = then;
  return await home.run([...line.split(' '), '--server', url, '--token-file', home.file('token', 'any')]);
}

describe('a control plane that names another address', () => {
  it.each([301, 302, 307, 308])('with %i is not followed, and the address is said', async (status) => {
    const kubeconfig = home.file('kubeconfig', 'apiVersion: v1\nkind: Config\n');
    const away: Answering = (request, response) =>
      say(status, {}, { location: `${other}${request.url}` })(request, response);
    for (const line of ['clusters list', `clusters create eu --mode push --kubeconfig ${kubeconfig}`]) {
      const { code, err } = await run(line, away);
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`${url} names another address: ${other}/api/v1/clusters`),
      ]);
      expect(err).toContain('--server URL');
    }
    expect(elsewhere).toEqual([]);
  });
});

describe('what a terminal would act on', () => {
  it('is shown as something else in a refusal', async () => {
    const refusal = { error: EVIL, message: EVIL, requestId: EVIL, faults: [{ path: EVIL, message: EVIL }] };
    const { code, err } = await run('clusters list', say(400, refusal));
    expect([code, err]).toEqual([1, expect.stringContaining('servicectl: a\ufffd]0;title')]);
    expect(err).not.toMatch(ACTING);
    const put = await run('clusters list --request-timeout 3s', say(503, refusal, { 'retry-after': '1' }));
    expect([put.code, put.err]).toEqual([1, expect.stringContaining('trying again')]);
    expect(put.err).not.toMatch(ACTING);
  });

  it('is escaped in documents, which hold the same value', async () => {
    const cluster = { slug: EVIL, [EVIL]: ['no', 'on', 'y', `${EVIL}\nsecond line`] };
    const [json, yaml] = [
      await run('clusters show eu -o json', say(200, cluster)),
      await run('clusters show eu -o yaml', say(200, cluster)),
    ];
    for (const { out } of [json, yaml]) expect(out).not.toMatch(ACTING);
    expect([JSON.parse(json.out), parse(yaml.out)]).toEqual([cluster, cluster]);
    expect(yaml.out).toMatch(/- "no"\n.*- "on"\n.*- "y"\n/);
  });
});

describe('an answer of another shape', () => {
  it.each([
    ['null', null],
    ['a list', [1, 2]],
    ['items that are none', { items: 'nope' }],
    ['items of nothing', { items: [null] }],
  ])('that is %s is told in words, and where it went wrong only to who asks', async (_, body) => {
    for (const line of ['clusters list', 'audit list', 'whoami']) {
      const { code, err } = await run(line, say(200, body));
      expect([line, code, err]).toEqual([line, 1, expect.stringContaining('not of a control plane of this version')]);
      expect(err).not.toMatch(/\n\s+at /);
    }
    answer = say(200, body);
    const env = { SERVICECTL_DEBUG: '1', SERVICECTL_SERVER: url, SERVICECTL_TOKEN_FILE: home.file('token', 'any') };
    expect((await home.run(['clusters', 'list'], { env })).err).toMatch(/\n\s+at /);
  });

  it('that names the same cursor for ever ends', async () => {
    for (const line of ['clusters list', 'intents list --limit 0']) {
      const { code, err } = await run(line, say(200, { items: [], nextCursor: 'again' }));
      expect([code, err]).toEqual([1, expect.stringContaining('not of a control plane of this version')]);
    }
  });

  it('that has no end is read no further than it may be long', { timeout: 60_000 }, async () => {
    const part = Buffer.alloc(1024 * 1024, 'x');
    const { code, err } = await run('clusters list', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"items":["');
      const more = (): void => {
        while (!response.destroyed) if (!response.write(part)) return;
      };
      response.on('drain', more);
      more();
    });
    expect([code, err]).toEqual([1, expect.stringContaining('more than 67108864 bytes')]);
  });
});

describe('a control plane that says nothing', () => {
  it('is asked no longer than --request-timeout says', { timeout: 20_000 }, async () => {
    const began = performance.now();
    const { code, err } = await run('clusters list --request-timeout 1s', () => undefined);
    expect([code, err]).toEqual([1, expect.stringContaining('does not answer')]);
    expect(performance.now() - began).toBeLessThan(9000);
  });

  it('is asked again, as one whose answer was lost', { timeout: 30_000 }, async () => {
    let asked = 0;
    const { code, out } = await run('clusters list -o json', (request, response) => {
      asked += 1;
      if (asked > 1) say(200, { items: [] })(request, response);
    });
    expect([code, asked, JSON.parse(out)]).toEqual([0, 2, { items: [] }]);
  });
});

it('advises nobody to wait for a day', async () => {
  const later = say(429, { error: 'rate_limited', message: 'slow' }, { 'retry-after': '99999' });
  expect((await run('clusters list', later)).err).toMatch(/It asks to be left alone for 99999 s: come back later\n$/);
});

it('names the options of every command in the help of one', async () => {
  expect((await home.run(['clusters', 'list', '--help'])).out).toContain('Options of every command: servicectl --help');
});
