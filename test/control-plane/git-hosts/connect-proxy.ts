import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** A proxy that tunnels (`CONNECT`) for whoever logs in, and notes where to. */
export class ConnectProxy implements AsyncDisposable {
  readonly tunnels: string[] = [];
  readonly refused: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(user: string, password: string) {
    const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    this.#server = createServer((_request, response) => response.writeHead(405).end());
    this.#server.on('connect', (request, socket: Socket) => {
      this.#keep(socket);
      const target = request.url ?? '';
      if (request.headers['proxy-authorization'] !== expected) {
        this.refused.push(target);
        const head = ['HTTP/1.1 407 Proxy Authentication Required', 'Proxy-Authenticate: Basic realm="proxy"'];
        socket.end(`${[...head, 'Content-Length: 0', 'Connection: close'].join('\r\n')}\r\n\r\n`);
        return;
      }
      this.tunnels.push(target);
      const [host = '', port = ''] = target.split(':');
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward.pipe(socket);
        socket.pipe(onward);
      });
      this.#keep(onward);
    });
  }

  static async start(user: string, password: string): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(user, password);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
