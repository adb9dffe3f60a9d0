import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setInterval as ticks } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpServer, type HttpServer } from '../../src/control-plane/http/server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';

const LIMIT_MS = 300;

let app: HttpServer;

beforeAll(async () => {
  const logger = createLogger('test', 'silent');
  const ready = async (): Promise<void> => undefined;
  app = createHttpServer({ clock: systemClock, logger, randomBytes, ready, requestTimeoutMs: LIMIT_MS });
  app.post('/api/agent/echo', async (request) => ({ got: request.body }));
  await app.listen({ port: 0, host: '127.0.0.1' });
});

afterAll(async () => {
  await app.close();
});

/** Sends a beginning, then a byte at a time; answers what came back when the other side has closed. */
async function trickle(beginning: string): Promise<{ readonly text: string; readonly ms: number }> {
  const socket: Socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.on('error', () => undefined);
  const start = performance.now();
  const closed = once(socket, 'close');
  const stop = new AbortController();
  void closed.then(() => stop.abort());
  socket.write(beginning);
  try {
    for await (const _tick of ticks(20, undefined, { signal: stop.signal })) socket.write('x');
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return { text: Buffer.concat(parts).toString('latin1'), ms: performance.now() - start };
}

async function openConnections(): Promise<number> {
  return await new Promise((resolve) => {
    app.server.getConnections((_error, count) => resolve(count));
  });
}

describe('a client that trickles', () => {
  it.each([
    ['its headers', 'POST /api/agent/echo HTTP/1.1\r\nHost: x\r\nX: '],
    [
      'its body',
      'POST /api/agent/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"',
    ],
    [
      'a chunk of its body',
      'POST /api/agent/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"',
    ],
  ])('%s is told so within the limit, and let go of', async (_what, beginning) => {
    const { text, ms } = await trickle(beginning);
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toMatch(/retry-after: [1-9]/i);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toEqual({
      error: 'unavailable',
      message: 'the request did not arrive in time',
      requestId: expect.stringMatching(/^req-/),
    });
    expect(ms).toBeLessThan(LIMIT_MS * 5);
    await expect.poll(openConnections, { interval: 5 }).toBe(0);
  });

  it('does not make a request that is whole end sooner', async () => {
    const body = '"whole"';
    const address = app.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${address.port}/api/agent/echo`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(await answer.json()).toEqual({ got: 'whole' });
  });
});
