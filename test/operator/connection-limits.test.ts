import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CONNECTION_LIMITS, type ConnectionLimits } from '../../src/operator/connection-limits.ts';
import { startProbes, type Probes } from '../../src/operator/probes.ts';
import { AdmissionServer } from '../../src/operator/webhook/admission-server.ts';
import { issueAuthority, issueServing, webhookNames } from '../../src/operator/webhook/webhook-certificate.ts';
import { createLogger } from '../../src/runtime/logger.ts';

const HALF_REQUEST = 'GET /healthz HTTP/1.1\r\n';
/** A record that announces 512 bytes of a handshake and brings one. */
const HALF_RECORD = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);
const REQUEST = `${HALF_REQUEST}host: a\r\n\r\n`;

let owned: AsyncDisposableStack;
let probes: Probes;
beforeEach(() => {
  owned = new AsyncDisposableStack();
});
afterEach(async () => await owned.disposeAsync());

async function serve(changed: Partial<ConnectionLimits> = {}): Promise<void> {
  const limits = { ...CONNECTION_LIMITS, ...changed };
  const webhook = new AdmissionServer({
    judge: async () => ({ allowed: true, warnings: [] }),
    logger: createLogger('test', 'silent'),
    limits,
  });
  webhook.serve(await issueServing(await issueAuthority(new Date()), webhookNames('service-system'), new Date()));
  probes = owned.use(
    await startProbes({
      listen: { host: '0.0.0.0', port: 0 },
      notReady: () => undefined,
      leads: () => true,
      connectivity: () => undefined,
      droppedEvents: () => 0,
      secure: () => webhook.server,
      limits,
    }),
  );
}

/** A connection from 127.0.0.1 that has sent this much, and when it was closed. */
async function halfOpen(sent: string | Buffer): Promise<{ readonly socket: Socket; readonly closed: Promise<string> }> {
  const socket = connect({ port: Number(new URL(probes.url).port), host: '127.0.0.1' });
  owned.defer(() => void socket.destroy());
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve('closed')));
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.resume();
  if (sent.length > 0) socket.write(sent);
  return { socket, closed };
}

/** What a probe from another address gets. */
async function probe(localAddress: string): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const { port } = new URL(probes.url);
  const asked = get({ host: '127.0.0.1', port, path: '/healthz', localAddress, agent: false, timeout: 2000 });
  asked.on('response', (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  asked.on('timeout', () => asked.destroy(new Error('no answer in 2 s')));
  asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  return await promise;
}

describe("the operator's port, while one address holds 600 half-open connections", () => {
  it('answers a probe from another address', { timeout: 20_000 }, async () => {
    await serve();
    await Promise.all(Array.from({ length: 600 }, async (_, n) => await halfOpen(n % 2 ? HALF_REQUEST : HALF_RECORD)));
    expect(await probe('127.0.0.2')).toBe(200);
  });

  it('turns that address away at its share, and takes it again once it lets go', async () => {
    await serve({ perAddress: 3 });
    const held = await Promise.all([HALF_REQUEST, HALF_RECORD, ''].map(halfOpen));
    expect(await probe('127.0.0.1')).toBe('ECONNRESET');
    expect(await probe('127.0.0.2')).toBe(200);
    for (const { socket, closed } of held) {
      socket.destroy();
      await closed;
    }
    // The other side learns of the ends a moment later.
    await expect.poll(async () => await probe('127.0.0.1')).toBe(200);
  });
});

describe("the operator's port closes a connection", () => {
  const never = 600_000;
  const patient = { firstByteMs: never, handshakeMs: never, requestMs: never, idleMs: never, checkMs: 20 };

  it.each<[string, string | Buffer, Partial<ConnectionLimits>]>([
    ['that says nothing', '', { firstByteMs: 50 }],
    ['whose TLS handshake does not come to its end', HALF_RECORD, { handshakeMs: 50 }],
    ['whose headers do not come to their end', HALF_REQUEST, { requestMs: 50 }],
    ['that asks for nothing more', REQUEST, { idleMs: 50 }],
  ])('%s', async (_, sent, short) => {
    await serve({ ...patient, ...short });
    const { closed } = await halfOpen(sent);
    expect(await closed).toBe('closed');
  });

  it.each<[string, Buffer, Partial<ConnectionLimits>]>([
    ['TLS record', Buffer.alloc(1), { handshakeMs: 100 }],
    ['header', Buffer.from('a'), { requestMs: 100 }],
  ])('that sends its %s a byte at a time', async (what, byte, short) => {
    await serve({ ...patient, ...short });
    const { socket, closed } = await halfOpen(what === 'header' ? HALF_REQUEST : HALF_RECORD);
    const dripping = setInterval(() => socket.write(byte), 20);
    owned.defer(() => clearInterval(dripping));
    expect(await closed).toBe('closed');
  });
});

it('is given 5 seconds for each step, and a share of less than a fifth', () => {
  const { firstByteMs, handshakeMs, requestMs, total, perAddress } = CONNECTION_LIMITS;
  expect([firstByteMs, handshakeMs, requestMs]).toEqual([5000, 5000, 5000]);
  expect(perAddress).toBeLessThan(total / 5);
});
