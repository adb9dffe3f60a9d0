import { Agent as PlainAgent, request as askPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as SecureAgent, createServer, request as askSecure, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { kubeconfigText } from '../../../src/sandbox/kubeconfig.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { issuePrivateChain } from '../private-authority.ts';

/** A request that may change something in the cluster. */
export interface ClusterWrite {
  /** `APPLY` for a server-side apply. */
  readonly verb: string;
  /** Without the query. */
  readonly path: string;
  readonly manager: string | undefined;
  readonly dryRun: boolean;
  readonly body: string;
  /** Of the answer; 0 until there is one. */
  status: number;
}

/** Where an API server is, and how it is trusted. */
export interface Upstream {
  readonly url: string;
  /** With HTTPS. */
  readonly ca: string | undefined;
}

/**
 * The one way of a client to its API server: over TLS of its own, noting what is written, and shut when it is told. What
 * is shut is gone as a machine is that lost its network: nothing is answered and watches end.
 */
export class ClusterGate implements AsyncDisposable {
  readonly writes: ClusterWrite[] = [];
  readonly #upstream: Upstream;
  readonly #server: Server;
  readonly #ca: string;
  readonly #agent: PlainAgent | SecureAgent;
  /** Requests and connections that came while it was shut. */
  turnedAway = 0;
  #isShut = false;

  private constructor(upstream: Upstream, tls: { readonly cert: string; readonly key: string; readonly ca: string }) {
    this.#upstream = upstream;
    this.#ca = tls.ca;
    this.#agent =
      upstream.ca === undefined
        ? new PlainAgent({ keepAlive: true })
        : new SecureAgent({ keepAlive: true, ca: upstream.ca });
    this.#server = createServer({ cert: tls.cert, key: tls.key }, (request, response) => this.#pass(request, response));
    // Longer than clients keep idle connections.
    this.#server.keepAliveTimeout = 120_000;
    this.#server.on('connection', (socket) => {
      if (!this.#isShut) return;
      this.turnedAway += 1;
      socket.destroy();
    });
  }

  static async start(upstream: Upstream): Promise<ClusterGate> {
    const { root, intermediate, leaf, key } = await issuePrivateChain('API server');
    const gate = new ClusterGate(upstream, { cert: leaf + intermediate, key, ca: root });
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return gate;
  }

  kubeconfig(token: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return kubeconfigText({ url: `https://127.0.0.1:${port}`, ca: this.#ca, token: new Secret(token) });
  }

  shut(): void {
    this.turnedAway = 0;
    this.#isShut = true;
    this.#server.closeAllConnections();
  }

  open(): void {
    this.#isShut = false;
  }

  /** What was written to one object itself, dry runs and its status left out. */
  writesTo(plural: string, name: string): readonly ClusterWrite[] {
    return this.writes.filter(({ path, dryRun }) => !dryRun && path.endsWith(`/${plural}/${name}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isShut) {
      request.socket.destroy();
      return;
    }
    const { method = 'GET', headers, url = '/' } = request;
    const write = method === 'GET' ? undefined : this.#note(method, headers['content-type'], url);
    const onward = (this.#upstream.ca === undefined ? askPlain : askSecure)(
      new URL(url, this.#upstream.url),
      { method, headers, agent: this.#agent },
      (answer) => {
        if (write !== undefined) write.status = answer.statusCode ?? 0;
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        answer.on('error', () => response.destroy());
      },
    );
    onward.on('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    if (write !== undefined) {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.once('end', () => Object.assign(write, { body: Buffer.concat(parts).toString() }));
    }
    request.pipe(onward);
  }

  #note(method: string, type: string | undefined, url: string): ClusterWrite {
    const { pathname, searchParams } = new URL(url, this.#upstream.url);
    const write = {
      verb: type === 'application/apply-patch+yaml' ? 'APPLY' : method,
      path: pathname,
      manager: searchParams.get('fieldManager') ?? undefined,
      dryRun: searchParams.has('dryRun'),
      body: '',
      status: 0,
    };
    this.writes.push(write);
    return write;
  }
}
