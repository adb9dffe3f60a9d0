import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { CONNECTION_LIMITS, type ConnectionLimits } from './connection-limits.ts';

export interface SharedPortDeps {
  readonly listen: { readonly host: string; readonly port: number };
  readonly plain: HttpServer;
  /** Undefined: TLS is not served, or not yet. */
  readonly secure: () => HttpsServer | undefined;
  readonly limits?: ConnectionLimits;
}

export interface SharedPort extends AsyncDisposable {
  /** Where plain HTTP is answered. TLS is answered at the same address. */
  readonly url: string;
}

/** The first byte of a TLS record that holds a handshake (RFC 8446, section 5.1); no HTTP request begins with it. */
const TLS_HANDSHAKE = 0x16;

/**
 * One port for plain HTTP and for TLS: the first byte of a connection tells which. A client beyond its share is closed at once, so
 * that the probes of a node get in whatever another address holds; after the first byte, time is bounded by the server it is
 * handed to.
 *
 * @throws when it cannot be listened on
 */
export async function openSharedPort(deps: SharedPortDeps): Promise<SharedPort> {
  const { plain, secure, listen, limits = CONNECTION_LIMITS } = deps;
  const undecided = new Set<Socket>();
  const open = new Map<string, number>();
  const started = new Set<HttpServer | HttpsServer>();
  const hand = (server: HttpServer | HttpsServer, socket: Socket): void => {
    // Node begins to watch over a server's time limits when it listens, which these never do themselves.
    if (!started.has(server)) server.emit('listening');
    started.add(server);
    server.emit('connection', socket);
    // TLS takes what was read so far from the socket itself; a parser of HTTP waits for it to flow.
    if (server === plain) socket.resume();
  };
  const port = createServer({ noDelay: true }, (socket) => {
    const giveUp = (): void => void socket.destroy();
    socket.on('error', giveUp);
    const { remoteAddress } = socket;
    // Undefined: it is gone already.
    if (remoteAddress === undefined) return giveUp();
    const others = open.get(remoteAddress) ?? 0;
    if (others >= limits.perAddress) return giveUp();
    open.set(remoteAddress, others + 1);
    undecided.add(socket);
    socket.setTimeout(limits.firstByteMs, giveUp);
    socket.once('close', () => {
      undecided.delete(socket);
      const left = (open.get(remoteAddress) ?? 1) - 1;
      if (left === 0) open.delete(remoteAddress);
      else open.set(remoteAddress, left);
    });
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      undecided.delete(socket);
      socket.setTimeout(0);
      socket.off('timeout', giveUp);
      const server = chunk[0] === TLS_HANDSHAKE ? secure() : plain;
      if (server === undefined) return giveUp();
      socket.unshift(chunk);
      hand(server, socket);
    });
  });
  port.maxConnections = limits.total;
  await new Promise<void>((resolve, reject) => {
    port.once('error', reject);
    port.listen(listen.port, listen.host, () => {
      port.off('error', reject);
      resolve();
    });
  });
  const { address, port: number, family } = port.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${number}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => {
        port.close(() => resolve());
      });
      for (const socket of undecided) socket.destroy();
      for (const server of started) {
        server.close();
        server.closeAllConnections();
      }
      await closed;
    },
  };
}
