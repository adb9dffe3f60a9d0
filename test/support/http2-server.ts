import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createLoopbackCertificate } from '../../src/sandbox/loopback-certificate.ts';

/** An HTTPS server that prefers HTTP/2 as Go's do, and remembers which version each client came to speak. */
export async function startHttp2Server(): Promise<
  AsyncDisposable & { readonly url: string; readonly ca: string; readonly versions: readonly string[] }
> {
  const { cert, key } = createLoopbackCertificate();
  const versions: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    response.setHeader('content-type', 'application/json');
    response.end('{"gitVersion":"v1.36.0","items":[]}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: cert,
    versions,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
