import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of a request: it is answered by the proxy, or carried out and its answer lost. */
export type ProxyFault = { readonly status: number } | 'lost';

export interface Passed {
  readonly method: string;
  readonly path: string;
  /** Of the answer; undefined where it was lost. */
  readonly status: number | undefined;
}

/** An HTTP proxy between an operator and a control plane that fails requests as it is told. */
export class FaultyProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly passed: Passed[] = [];
  fault: (request: { readonly method: string; readonly path: string }) => ProxyFault | undefined = () => undefined;

  private constructor(upstream: string) {
    this.#server = createServer((request, response) => {
      const { method = 'GET', url: path = '/', headers } = request;
      const fault = this.fault({ method, path });
      const note = (status: number | undefined): void => void this.passed.push({ method, path, status });
      if (fault !== undefined && fault !== 'lost') {
        note(fault.status);
        request.resume();
        response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>');
        return;
      }
      const onward = httpRequest(new URL(path, upstream), { method, headers }, (answer) => {
        const { statusCode = 502 } = answer;
        note(fault === 'lost' ? undefined : statusCode);
        if (fault === 'lost') {
          answer.resume();
          response.destroy();
          return;
        }
        response.writeHead(statusCode, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      response.once('close', () => onward.destroy());
      request.pipe(onward);
    });
  }

  static async start(upstream: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(upstream);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many answers had this status, or were lost, below a path. */
  count(path: string, status: number | undefined): number {
    return this.passed.filter((one) => one.path.includes(path) && one.status === status).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
