import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the range that Linux takes for outgoing connections, so that a port stays free over a restart. */
const RANGE = { first: 20_000, last: 31_999 };

/** Ports of 127.0.0.1 that nobody listens on. Another process may be quicker: who starts on one must be ready to try anew. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = randomInt(RANGE.first, RANGE.last + 1);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
