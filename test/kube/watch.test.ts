import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { ServerResponse } from 'node:http';
import type { ClusterApi, WatchEvent } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { MAX_LINE_BYTES, watchLines } from '../../src/kube/watch-lines.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { json, startStubServer, type StubServer } from './stub-server.ts';

const KIND = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
let server: StubServer;
let clock: ManualClock;
let api: ClusterApi & AsyncDisposable;

beforeEach(async () => {
  server = await startStubServer();
  clock = new ManualClock();
  const kubeconfig = { kind: 'text', yaml: server.kubeconfig() } as const;
  api = connectCluster({ kubeconfig, userAgent: 'test', clock, random: () => 0.5 });
});

afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function collect(signal = new AbortController().signal): Promise<WatchEvent<KubeObject>[]> {
  const events: WatchEvent<KubeObject>[] = [];
  for await (const event of api.watch(KIND, { resourceVersion: '5' }, signal)) events.push(event);
  return events;
}

/** Sends pieces one after another, each in a packet of its own, then ends. */
function send(response: ServerResponse, pieces: readonly (string | Buffer)[], end = true): void {
  const [piece, ...rest] = pieces;
  if (piece === undefined) {
    if (end) response.end();
    return;
  }
  response.write(piece, () => setImmediate(() => send(response, rest, end)));
}

const event = (type: string, name: string, resourceVersion = '6'): string =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion } } })}\n`;
const seen = (type: string, name: string): unknown => ({
  type,
  object: { ...KIND, metadata: { name, resourceVersion: '6' } },
});

describe('a watch', () => {
  it('asks for bookmarks and an end, and gives objects the kind that was asked for', async () => {
    const bookmark = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n';
    server.handle((_request, response) => send(response, [event('ADDED', 'a') + event('DELETED', 'a'), bookmark]));
    expect(await collect()).toEqual([
      seen('ADDED', 'a'),
      seen('DELETED', 'a'),
      { type: 'BOOKMARK', resourceVersion: '9' },
    ]);
    expect(server.received[0]?.url).toBe(
      '/api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=435',
    );
  });

  it('puts together what packets tear apart, in the middle of a character too', async () => {
    const line = Buffer.from(event('ADDED', 'größe-日本'));
    const pieces = [...line].map((byte) => Buffer.from([byte]));
    server.handle((_request, response) => send(response, [...pieces, '\n\n', event('MODIFIED', 'b')]));
    expect(await collect()).toEqual([seen('ADDED', 'größe-日本'), seen('MODIFIED', 'b')]);
  });

  it('drops the half line of a cut, and says that it was cut', async () => {
    server.handle((_request, response) => {
      response.write(`${event('ADDED', 'a')}{"type":"MODI`, () => setImmediate(() => response.destroy()));
    });
    const events: unknown[] = [];
    const watching = (async () => {
      for await (const each of api.watch(KIND, { resourceVersion: '5' }, new AbortController().signal))
        events.push(each);
    })();
    await expect(watching).rejects.toMatchObject({ status: 0, reason: 'ConnectionFailed' });
    expect(events).toEqual([seen('ADDED', 'a')]);
  });

  it('ends quietly with a half line when the server ends it so', async () => {
    server.handle((_request, response) => send(response, [event('ADDED', 'a'), '{"type":"ADD']));
    expect(await collect()).toEqual([seen('ADDED', 'a')]);
  });

  it('throws 410 for a version that is too old, said in the stream or before it', async () => {
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 5 (90)' };
    const gone = { status: 410, reason: 'Expired', message: 'too old resource version: 5 (90)' };
    server.handle((_request, response) => send(response, [`${JSON.stringify({ type: 'ERROR', object: status })}\n`]));
    await expect(collect()).rejects.toMatchObject(gone);
    server.handle(json(410, status));
    await expect(collect()).rejects.toMatchObject(gone);
  });

  it.each([
    '<html>',
    '{"type":"ADDED"}',
    '{"type":"NEW","object":{"metadata":{}}}',
    '{"type":"ERROR","object":{}}',
    '[]',
    'null',
  ])('refuses %s', async (line) => {
    server.handle((_request, response) => send(response, [`${line}\n`]));
    await expect(collect()).rejects.toMatchObject({ status: 0, reason: 'AnswerUnreadable' });
  });

  it('gives up on a line that never ends', async () => {
    server.handle((_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024, 'x');
      const more = (): void => {
        if (!response.destroyed) response.write(chunk, more);
      };
      more();
    });
    await expect(collect()).rejects.toMatchObject({
      status: 0,
      reason: 'AnswerTooLarge',
      message: `watch ${server.url}/api/v1/configmaps: a line of the watch is longer than ${MAX_LINE_BYTES} bytes`,
    });
  });

  it('takes a connection that outlives its time for dead', async () => {
    const open = Promise.withResolvers<void>();
    server.handle((_request, response) => response.write('\n', () => open.resolve()));
    const watching = collect();
    await open.promise;
    while (clock.sleeping > 1) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(435_000 + 15_000);
    await expect(watching).rejects.toMatchObject({
      status: 0,
      reason: 'RequestTimedOut',
      message: `watch ${server.url}/api/v1/configmaps: silent 15 s after its end was due`,
    });
  });

  it('does not wait for ever for the first byte of the answer', async () => {
    const asked = Promise.withResolvers<void>();
    server.handle(() => asked.resolve());
    const watching = collect();
    await asked.promise;
    clock.advance(30_000);
    await expect(watching).rejects.toMatchObject({ reason: 'RequestTimedOut' });
  });

  it('ends quietly, and closes its connection, when the caller aborts', async () => {
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    server.handle((_request, response) => {
      response.on('close', () => closed.resolve());
      response.write(event('ADDED', 'a'));
    });
    const events: unknown[] = [];
    for await (const each of api.watch(KIND, { resourceVersion: '5' }, stop.signal)) {
      events.push(each);
      stop.abort();
    }
    expect(events).toEqual([seen('ADDED', 'a')]);
    await closed.promise;
    expect(clock.sleeping).toBe(0);
    expect(await collect(stop.signal)).toEqual([]);
  });

  it('closes its connection when the caller leaves the loop', async () => {
    const closed = Promise.withResolvers<void>();
    server.handle((_request, response) => {
      response.on('close', () => closed.resolve());
      response.write(event('ADDED', 'a'));
    });
    for await (const _each of api.watch(KIND, { resourceVersion: '5' }, new AbortController().signal)) break;
    await closed.promise;
    expect(clock.sleeping).toBe(0);
  });
});

describe('lines', () => {
  it('are the same however the bytes are cut', async () => {
    const texts = fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', '')));
    await fc.assert(
      fc.asyncProperty(texts, fc.array(fc.nat(40)), async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const chunks: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut));
          at = Math.min(bytes.length, at + cut);
        }
        chunks.push(bytes.subarray(at));
        const split = await Array.fromAsync(
          watchLines(
            (async function* () {
              yield* chunks;
            })(),
            'x',
          ),
        );
        expect(split).toEqual(lines.filter((line) => line.trim() !== ''));
      }),
      { numRuns: 200 },
    );
  });
});
