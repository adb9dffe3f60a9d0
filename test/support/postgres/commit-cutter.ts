import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A relay in front of PostgreSQL that ends a connection at a COMMIT: before the server sees it, or before its answer comes back. */
export class CommitCutter implements AsyncDisposable {
  /** What happens to the next COMMIT. */
  cut: 'before' | 'after' | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(target: number): Promise<CommitCutter> {
    const server = createServer();
    const cutter = new CommitCutter(server);
    server.on('connection', (client) => cutter.#relay(client, connect(target, '127.0.0.1')));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return cutter;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #relay(client: Socket, upstream: Socket): void {
    let silent = false;
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      const { cut } = this;
      if (cut !== undefined && chunk.includes('COMMIT')) {
        this.cut = undefined;
        if (cut === 'before') {
          client.destroy();
          return;
        }
        silent = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (silent) client.destroy();
      else client.write(chunk);
    });
  }
}
