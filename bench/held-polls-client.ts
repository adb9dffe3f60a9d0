import { connect } from 'node:net';
import { AGENT_MEDIA_TYPE } from '../src/protocol/media-type.ts';

/** One cluster that polls. */
export interface Poller {
  readonly clusterId: string;
  readonly token: string;
}

export interface ClientOrders {
  readonly port: number;
  readonly localAddress: string;
  readonly pollers: readonly Poller[];
}

/** A poll's answer with a job came; `at` in milliseconds since 1970, by this machine's clock. */
export interface Answered {
  readonly clusterId: string;
  readonly at: number;
}

/** Sockets that are being opened at once: the listener's backlog is short. */
const OPENING = 64;
const WAIT_SECONDS = 300;

// A process of its own: sockets without an HTTP client, so that holding thousands costs little here.
process.once('message', (orders: ClientOrders) => {
  hold(orders).then(
    () => process.send?.('sent'),
    () => process.exit(1),
  );
});
process.once('disconnect', () => process.exit(0));

async function hold({ port, localAddress, pollers }: ClientOrders): Promise<void> {
  const rest = pollers.values();
  await Promise.all(
    Array.from({ length: OPENING }, async () => {
      for (const poller of rest) await poll(port, localAddress, poller);
    }),
  );
}

/** Resolves when the request is sent; tells of the answer later. */
async function poll(port: number, localAddress: string, { clusterId, token }: Poller): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.once('error', reject);
    socket.once('connect', () => {
      const head = [
        `GET /api/agent/jobs?cluster=${clusterId}&wait=${WAIT_SECONDS} HTTP/1.1`,
        'Host: localhost',
        `Accept: ${AGENT_MEDIA_TYPE}`,
        `Authorization: Bearer ${token}`,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`, () => resolve());
    });
    socket.on('data', (bytes: Buffer) => {
      const answered: Answered = { clusterId, at: Date.now() };
      if (bytes.includes('"jobs":[{')) process.send?.(answered);
    });
  });
}
