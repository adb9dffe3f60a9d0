import { request as httpRequest } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { PeerCertificate, TLSSocket } from 'node:tls';

export interface TlsProxyOptions {
  readonly cert: string;
  readonly key: string;
  /** PEM that clients are verified by, as `ssl_client_certificate` says. */
  readonly clientAuthority: string;
  /** Where requests go: http://host:port. */
  readonly upstream: string;
  readonly header: string;
  /** What the header holds; nothing is sent where it gives undefined, whatever the client sent under that name. */
  readonly encode: (certificate: Buffer) => string | undefined;
}

export interface TlsProxy extends AsyncDisposable {
  readonly port: number;
}

/**
 * A proxy that ends TLS as nginx does with `ssl_verify_client optional`: a certificate that does not verify is answered 400
 * by the proxy itself, one that does is handed on in a header, in whose place nothing of the client's ever gets through.
 */
export async function startTlsProxy(options: TlsProxyOptions): Promise<TlsProxy> {
  const { cert, key, clientAuthority: ca, upstream, header, encode } = options;
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const socket = request.socket as TLSSocket;
    const peer = socket.getPeerCertificate() as Partial<PeerCertificate>;
    if (peer.raw !== undefined && !socket.authorized) {
      response.writeHead(400, { 'content-type': 'text/html' }).end('<html>The SSL certificate error</html>');
      return;
    }
    const value = peer.raw === undefined ? undefined : encode(peer.raw);
    const { [header.toLowerCase()]: _theirs, ...headers } = request.headers;
    const onward = httpRequest(
      new URL(request.url ?? '/', upstream),
      { method: request.method ?? 'GET', headers: { ...headers, ...(value === undefined ? {} : { [header]: value }) } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
