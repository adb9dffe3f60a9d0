import { createServer, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A real HTTP receiver that answers what a test tells it to, 200 where it tells nothing. */
export class WebhookReceiver implements AsyncDisposable {
  readonly received: Received[] = [];
  /** Taken one a request. */
  readonly replies: Reply[] = [];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      this.received.push({ path: request.url ?? '', headers: request.headers, body });
      const { status, headers = {}, body: answer = 'ok' } = this.replies.shift() ?? { status: 200 };
      response.writeHead(status, headers).end(answer);
    });
  });

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/services/T0/B0/secret-path`;
  }

  /** The texts that arrived, in order. */
  get texts(): string[] {
    return this.received.map(({ body }) => (JSON.parse(body) as { text: string }).text);
  }

  get ids(): string[] {
    return this.received.map(({ headers }) => String(headers['webhook-id']));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
