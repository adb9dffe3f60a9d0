import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { createHttpServer, type HttpServer } from '../../src/control-plane/http/server.ts';
import { AppError } from '../../src/protocol/app-error.ts';
import { ManualClock } from '../support/manual-clock.ts';

interface TestServer extends AsyncDisposable {
  readonly app: HttpServer;
  readonly log: () => string;
}

function start(): TestServer {
  const lines: string[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const app = createHttpServer({
    clock: new ManualClock(),
    logger: pino({ level: 'trace' }, sink),
    randomBytes,
    ready: async () => {
      await Promise.resolve();
    },
  });
  return {
    app,
    log: () => lines.join(''),
    [Symbol.asyncDispose]: async () => {
      await app.close();
    },
  };
}

describe('createHttpServer', () => {
  it('answers every failure in the one error body, and shows nothing of a fault of its own', async () => {
    await using server = start();
    server.app.get('/fault', () => {
      throw new Error('password=hunter2 in /srv/secret.ts');
    });
    server.app.get('/busy', () => {
      throw new AppError('rate_limited', 'slow down', { retryAfterSeconds: 7 });
    });
    const fault = await server.app.inject({
      url: '/fault?token=in-the-query',
      headers: { authorization: 'Bearer in-a-header' },
    });
    expect(fault.statusCode).toBe(500);
    expect(fault.json()).toEqual({
      error: 'internal',
      message: 'the server failed at this request; its log has the details under the request id',
      requestId: fault.headers['service-request-id'],
    });
    expect(server.log()).toContain(String(fault.headers['service-request-id']));
    expect(server.log()).not.toContain('in-the-query');
    expect(server.log()).not.toContain('in-a-header');
    const busy = await server.app.inject('/busy');
    expect([busy.statusCode, busy.headers['retry-after'], busy.json()]).toMatchObject([
      429,
      '7',
      { error: 'rate_limited' },
    ]);
    const bad = await server.app.inject('/%zz');
    expect([bad.statusCode, bad.json()]).toMatchObject([400, { error: 'invalid_body' }]);
  });

  it('gives each request an id of its own, whatever the client sends', async () => {
    await using server = start();
    const answer = await server.app.inject({
      url: '/healthz',
      headers: { 'service-request-id': 'mine', 'request-id': 'mine' },
    });
    expect(answer.headers['service-request-id']).toMatch(/^req-[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it('reads queries by their schema, and names the path of every fault', async () => {
    await using server = start();
    const querystring = Type.Object({ limit: Type.Integer({ maximum: 10 }) }, { additionalProperties: false });
    server.app.get('/list', { schema: { querystring } }, (request, reply) =>
      reply.send({ limit: request.query.limit }),
    );
    expect((await server.app.inject('/list?limit=7')).json()).toEqual({ limit: 7 });
    const bad = await server.app.inject('/list?limit=seven&x=1');
    expect([bad.statusCode, bad.json()]).toMatchObject([
      400,
      { error: 'constraint_violated', faults: [{ path: '/x' }, { path: '/limit' }] },
    ]);
  });

  it('has a body limit per route', async () => {
    await using server = start();
    server.app.post('/small', { bodyLimit: 10 }, async () => ({}));
    server.app.post('/usual', async () => ({}));
    const post = async (url: string, bytes: number): Promise<number> => {
      const payload = JSON.stringify('x'.repeat(bytes - 2));
      return (
        await server.app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json' } })
      ).statusCode;
    };
    expect([await post('/small', 10), await post('/small', 11)]).toEqual([200, 413]);
    expect([await post('/usual', 1_048_576), await post('/usual', 1_048_577)]).toEqual([200, 413]);
  });

  it('answers what is not HTTP in the error body too', async () => {
    await using server = start();
    await server.app.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect((server.app.server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('nonsense\r\n\r\n');
    const text = (await socket.toArray()).join('');
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(text.slice(text.indexOf('{')))).toMatchObject({
      error: 'invalid_body',
      message: 'this is not an HTTP request',
    });
  });

  it('tells held requests that it closes', async () => {
    await using server = start();
    const entered = Promise.withResolvers<void>();
    server.app.get('/held', async () => {
      entered.resolve();
      await once(server.app.closing, 'abort');
      return { ended: true };
    });
    const held = server.app.inject('/held').then((answer) => answer.json<unknown>());
    await entered.promise;
    await server.app.close();
    expect(await held).toEqual({ ended: true });
  });
});
