/** A process that serves the folder `process.argv[2]` as an embedded host and prints its port: to be killed by a test. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { EmbeddedHost } from '../../src/git/embedded-host/embedded-host.ts';
import { systemClock } from '../../src/runtime/clock.ts';

const host = new EmbeddedHost({
  root: process.argv[2] ?? '',
  authorize: async () => ({ access: 'read' }),
  logger: pino({ level: 'silent' }),
  clock: systemClock,
  maxProcesses: 2,
  timeoutMs: 60_000,
});
await host.ensureRepository('acme', { branch: 'main' });
const server = createServer((request, response) => void host.handle(request, response));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
