import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { Home, type Ended } from './home.ts';

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let home: Home;
let url: string;
let answers: Answering[] = [];
const seen: string[] = [];
const keys = new Set<unknown>();
const waits: number[] = [];
let passed = 0;
/** Time passes only by waits. */
const clock: Clock = {
  now: () => new Date(1_800_000_000_000 + passed),
  sleep: async (ms) => {
    waits.push(ms);
    passed += ms;
    await systemClock.sleep(1);
  },
};

const lost: Answering = (request) => request.socket.destroy();
const say =
  (status: number, body = '{}', headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const cluster = say(200, '{"slug":"eu"}');

beforeAll(async () => {
  home = new Home();
  server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.method === 'POST') keys.add(request.headers['idempotency-key']);
    request.resume().once('end', () => (answers.shift() ?? cluster)(request, response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  for (const list of [seen, waits]) list.length = 0;
  keys.clear();
  passed = 0;
});
afterAll(() => {
  home[Symbol.dispose]();
  server.close();
});

async function run(line: string, then: Answering[]): Promise<Ended> {
  answers = then;
  const args = [...line.split(' '), '--server', url, '--token-file', home.file('token', 'any')];
  // The shortest jitter.
  return await home.run(args, { clock, randomBytes: (n) => new Uint8Array(n) });
}

describe('a call whose answer was lost', () => {
  it('is made again under the same key, so that it is done once', async () => {
    expect(await run('clusters enable eu', [lost, lost])).toMatchObject({ code: 0, err: '' });
    expect(seen).toEqual(Array.from({ length: 3 }, () => 'POST /api/v1/clusters/eu/enable'));
    expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it('of a deletion is done when there is nothing left to delete', async () => {
    const gone = say(404, '{"error":"not_found","message":"there is none"}');
    expect((await run('admin-tokens delete ci --yes', [lost, gone])).code).toBe(0);
    expect((await run('admin-tokens delete ci --yes', [gone])).code).toBe(1);
  });

  it('of an edit of what was read is not made again: it may have been done', async () => {
    const read = say(200, '{"slug":"eu","allowedNamespaces":["a"]}', { etag: '"1"' });
    const { code, err } = await run('clusters update eu --add-namespace b', [read, lost]);
    expect([code, err, seen]).toEqual([
      1,
      expect.stringContaining('does not answer'),
      ['GET /api/v1/clusters/eu', 'PATCH /api/v1/clusters/eu'],
    ]);
  });
});

describe('a call that is put off', () => {
  it('waits as long as it was asked to, and says so', async () => {
    const busy = say(429, '{"error":"rate_limited","message":"slow"}', { 'retry-after': '7' });
    expect(await run('clusters show eu -o name', [busy, say(503)])).toEqual({
      code: 0,
      out: 'eu\n',
      err: 'servicectl: the control plane answered 429 (rate_limited); trying again in 7 s\n',
    });
    expect(waits).toEqual([7000, 200]);
    expect(await run('clusters show eu -o name --quiet', [busy])).toMatchObject({ code: 0, err: '' });
  });

  it('ends where its time is up, and says when to come again', async () => {
    const away = say(503, '{"error":"unavailable","message":"being restarted"}', { 'retry-after': '120' });
    expect(await run('clusters show eu', [away])).toEqual({
      code: 1,
      out: '',
      err: 'servicectl: being restarted (unavailable)\nTry again in 120 s, or give it longer: --request-timeout 150s\n',
    });
    expect(waits).toEqual([]);
    expect(await run('clusters show eu --request-timeout 150s -o name', [away])).toMatchObject({
      code: 0,
      out: 'eu\n',
    });
    passed = 0;
    const lostForEver = Array.from({ length: 200 }, () => lost);
    expect(await run('clusters show eu', lostForEver)).toMatchObject({ code: 1 });
    expect([passed < 30_000, waits.length > 3]).toEqual([true, true]);
  });

  it('is asked of again while the first of it is still worked on', async () => {
    const working = say(409, '{"error":"conflict","message":"still running"}', { 'retry-after': '1' });
    expect((await run('clusters enable eu', [working])).code).toBe(0);
    expect((await run('clusters enable eu', [say(409, '{"error":"conflict","message":"no"}')])).code).toBe(1);
  });
});
