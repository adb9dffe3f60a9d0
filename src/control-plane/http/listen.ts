import type { AddressInfo } from 'node:net';
import type { EmbeddedHost } from '../../git/embedded-host/embedded-host.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ControlPlaneConfig } from '../config.ts';
import type { HttpServer } from './server.ts';

/** For answers in flight when the program ends. */
const CLOSE_MS = 3000;

/** @returns the address that this process itself can call */
export async function listen(
  app: HttpServer,
  config: Pick<ControlPlaneConfig, 'listen'>,
  scheme: 'http' | 'https',
): Promise<string> {
  const { host, port } = config.listen;
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new Error(`SERVICE_LISTEN: ${host}:${port} cannot be listened on (${code})`, { cause: error });
  }
  const address = app.server.address() as AddressInfo;
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`;
}

/** Held requests answer at once; what takes longer than a few seconds is cut. */
export async function close(app: HttpServer, host: EmbeddedHost, clock: Clock): Promise<void> {
  const done = new AbortController();
  const cut = clock.sleep(CLOSE_MS, done.signal).then(
    () => app.server.closeAllConnections(),
    () => undefined,
  );
  await Promise.all([app.close(), host[Symbol.asyncDispose]()]);
  done.abort();
  await cut;
}
