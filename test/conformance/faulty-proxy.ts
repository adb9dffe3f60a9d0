import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer on its way to the client, to be changed in place. */
export interface PassingAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface PassingCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What is wrong with a control plane behind the proxy. */
export interface Fault {
  readonly title: string;
  /** Ids of the checks that must notice. */
  readonly breaks: readonly string[];
  /** An answer instead of the control plane's. */
  readonly instead?: (call: PassingCall) => PassingAnswer | undefined;
  /** Another path to ask the control plane for. */
  readonly path?: (path: string) => string;
  readonly change?: (answer: PassingAnswer, call: PassingCall) => void;
}

/** A control plane with a fault: a real one behind a proxy that spoils the agent API and leaves the admin API as it is. */
export class FaultyProxy implements AsyncDisposable {
  fault: Omit<Fault, 'title' | 'breaks'> = {};
  readonly #target: URL;
  readonly #server = createServer((request, response) => {
    this.#pass(request, response).catch((error: unknown) => {
      response.writeHead(502);
      response.end(String(error));
    });
  });

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const call: PassingCall = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      body: Buffer.concat(parts),
    };
    const fault = call.path.startsWith('/api/agent') ? this.fault : {};
    const answer =
      fault.instead?.(call) ?? (await this.#forward({ ...call, path: fault.path?.(call.path) ?? call.path }));
    fault.change?.(answer, call);
    const hasBody = answer.body !== '';
    response.writeHead(answer.status, {
      ...answer.headers,
      ...(hasBody ? { 'content-length': String(Buffer.byteLength(answer.body)) } : {}),
    });
    response.end(hasBody ? answer.body : undefined);
  }

  async #forward(call: PassingCall): Promise<PassingAnswer> {
    return await new Promise((resolve, reject) => {
      const { hostname, port } = this.#target;
      const { method, path, headers } = call;
      const forwarded = httpRequest({ hostname, port, method, path, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('error', reject);
        response.once('end', () => {
          const kept = Object.entries(response.headers).filter(
            ([name]) => !/^(connection|keep-alive|content-length|transfer-encoding)$/.test(name),
          );
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
            body: Buffer.concat(parts).toString('utf8'),
          });
        });
      });
      forwarded.once('error', reject);
      forwarded.end(call.body);
    });
  }
}
