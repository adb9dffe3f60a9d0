import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** One poll on its way through the proxy. */
export class ProxiedPoll {
  /** Seconds for which it asks to be held. */
  readonly wait: number;
  readonly #client: Socket;
  readonly #upstream: Socket;
  /** The control plane has answered, whoever heard of it. */
  isAnswered = false;

  constructor(wait: number, client: Socket, upstream: Socket) {
    this.wait = wait;
    this.#client = client;
    this.#upstream = upstream;
  }

  /** Whoever polls is told that the connection is over; the control plane is told nothing. */
  cut(): void {
    this.silence();
    this.#client.destroy();
  }

  /** Nothing comes through any more, in either direction, and nobody is told. */
  silence(): void {
    this.#upstream.unpipe(this.#client);
    this.#upstream.resume();
  }

  /** The control plane is told at last. */
  end(): void {
    this.#upstream.destroy();
  }
}

/** A proxy between an operator and a control plane, of bytes: it knows a poll when it sees one, and what it may not do. */
export class PollProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #polls: ProxiedPoll[] = [];
  readonly #waiting: ((poll: ProxiedPoll) => void)[] = [];
  #gate: Promise<void> | undefined;

  private constructor(upstreamPort: number) {
    this.#server = createServer((client) => this.#take(client, upstreamPort));
  }

  static async start(upstreamUrl: string): Promise<PollProxy> {
    const proxy = new PollProxy(Number(new URL(upstreamUrl).port));
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next poll that comes, or came and was not looked at. */
  async next(): Promise<ProxiedPoll> {
    const poll = this.#polls.shift();
    return poll ?? (await new Promise<ProxiedPoll>((resolve) => this.#waiting.push(resolve)));
  }

  /** What comes now waits at the proxy. Answers what lets it through. */
  holdBack(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return () => {
      this.#gate = undefined;
      resolve();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(client: Socket, port: number): void {
    const upstream = connect(port, '127.0.0.1');
    let current: ProxiedPoll | undefined;
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.#sockets.delete(socket));
    }
    // The control plane hears of nothing before the test says so; whoever polls hears of it at once.
    upstream.once('close', () => client.destroy());
    upstream.on('data', () => {
      if (current !== undefined) current.isAnswered = true;
    });
    upstream.pipe(client);
    client.on('data', (bytes: Buffer) => {
      const wait = /^GET \/api\/agent\/jobs\?\S*wait=(\d+)/.exec(bytes.toString('latin1'))?.[1];
      const poll = wait === undefined ? undefined : new ProxiedPoll(Number(wait), client, upstream);
      const pass = (): void => {
        current = poll;
        upstream.write(bytes);
        if (poll === undefined) return;
        const waiting = this.#waiting.shift();
        if (waiting === undefined) this.#polls.push(poll);
        else waiting(poll);
      };
      if (this.#gate === undefined) pass();
      else void this.#gate.then(pass);
    });
  }
}
