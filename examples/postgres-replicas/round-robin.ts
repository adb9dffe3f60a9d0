import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One of the replicas behind the proxy. */
export interface Backend {
  readonly name: string;
  readonly port: number;
}

/** A poll of the operator that a replica holds now. */
export interface HeldPoll {
  readonly replica: string;
  readonly since: number;
}

/**
 * Sends each request to the next replica, without any stickiness: what a load balancer in front of several replicas does.
 * A replica that takes no connection is passed over. It remembers where the operator's job poll is held, for the show.
 */
export class RoundRobin implements AsyncDisposable {
  readonly #server: Server;
  readonly #backends: readonly Backend[];
  readonly #answered = new Map<string, number>();
  #next = 0;
  #held: HeldPoll | undefined;

  private constructor(server: Server, backends: readonly Backend[]) {
    this.#server = server;
    this.#backends = backends;
  }

  static async start(port: number, backends: readonly Backend[]): Promise<RoundRobin> {
    const server = createServer();
    const proxy = new RoundRobin(server, backends);
    server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
      proxy.#pass(incoming, response, backends.length);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The poll that is held for long enough to be waiting. */
  get held(): HeldPoll | undefined {
    return this.#held;
  }

  /** How many requests each replica answered. */
  get answered(): ReadonlyMap<string, number> {
    return this.#answered;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  /** Operators send small bodies: one is read whole, so that another replica can get it when the first one is gone. */
  #pass(incoming: IncomingMessage, response: ServerResponse, tries: number): void {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => this.#send(incoming, Buffer.concat(chunks), response, tries));
    incoming.on('error', () => response.destroy());
  }

  #send(incoming: IncomingMessage, body: Buffer, response: ServerResponse, triesLeft: number): void {
    const backend = this.#backends[this.#next % this.#backends.length];
    this.#next += 1;
    if (backend === undefined || triesLeft === 0) {
      response.writeHead(502, { 'content-type': 'text/plain' }).end('no replica answers\n');
      return;
    }
    const { method, url = '/', headers } = incoming;
    const upstream = request({ host: '127.0.0.1', port: backend.port, method, path: url, headers });
    const poll = method === 'GET' && url.startsWith('/api/agent/jobs') ? this.#hold(backend.name) : undefined;
    let answering = false;
    upstream.on('response', (answer) => {
      answering = true;
      this.#answered.set(backend.name, (this.#answered.get(backend.name) ?? 0) + 1);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('close', () => this.#let(poll));
    });
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      this.#let(poll);
      if (response.destroyed || answering) response.destroy();
      // Nothing listens there: it got nothing, so the next replica may have it. A request that it may have begun is the
      // client's to repeat.
      else if (error.code === 'ECONNREFUSED') this.#send(incoming, body, response, triesLeft - 1);
      else response.writeHead(502, { 'content-type': 'text/plain' }).end('the replica ended\n');
    });
    response.on('close', () => upstream.destroy());
    upstream.end(body);
  }

  #hold(replica: string): HeldPoll {
    this.#held = { replica, since: performance.now() };
    return this.#held;
  }

  #let(poll: HeldPoll | undefined): void {
    if (poll !== undefined && this.#held === poll) this.#held = undefined;
  }
}
