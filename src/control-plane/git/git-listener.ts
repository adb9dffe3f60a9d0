import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EmbeddedHost } from '../../git/embedded-host/embedded-host.ts';

/** A server of its own for the writer's pushes. */
export interface GitListener extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves the embedded Git host on a free port of the loopback interface, in plain HTTP. With TLS the public address has a
 * certificate for a name that may not lead back to this process, so the writer does not go through it.
 */
export async function listenForGit(host: Pick<EmbeddedHost, 'handle'>): Promise<GitListener> {
  const server = createServer((request, response) => {
    void host.handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      await closed;
    },
  };
}
