import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The network between an operator and its control plane: it can be down, and it can be cut. */
export class AgentLine implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isUp = true;

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (!this.#isUp) {
        near.destroy();
        return;
      }
      const far = connect(port, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.once('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  /** A line to this port of the loopback interface. */
  static async start(port: number): Promise<AgentLine> {
    const line = new AgentLine(port);
    await new Promise<void>((resolve) => {
      line.#server.listen(0, '127.0.0.1', resolve);
    });
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** What is under way is cut as well. */
  down(): void {
    this.#isUp = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  up(): void {
    this.#isUp = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.down();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
