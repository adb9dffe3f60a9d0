import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** One request as it is put on the wire. */
export interface Call {
  readonly method: string;
  /** Path and query below the base URL, such as `/api/agent/jobs?cluster=c-…`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly timeoutMs?: number;
}

/** What was sent and what came back; a failed check shows both. */
export interface Answer {
  readonly call: Call;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON, or undefined where it is not JSON. */
  readonly json: unknown;
  readonly ms: number;
}

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 4_194_304;

/** HTTP and nothing on top of it: no redirects, no retries, no headers but those that a check asks for. */
export class HttpClient implements Disposable {
  /** Origin and path prefix, without a slash behind. */
  readonly base: URL;
  readonly #agent: HttpAgent | HttpsAgent;

  /** @param ca PEM roots to trust instead of the system's */
  constructor(url: string, ca?: string) {
    this.base = new URL(url);
    const options = { keepAlive: true, maxSockets: 16 };
    this.#agent =
      this.base.protocol === 'https:'
        ? new HttpsAgent({ ...options, ...(ca === undefined ? {} : { ca }) })
        : new HttpAgent(options);
  }

  /** The request target of a path: what a MAC is made over. */
  target(path: string): string {
    return `${this.base.pathname.replace(/\/$/, '')}${path}`;
  }

  async send(call: Call): Promise<Answer> {
    const start = performance.now();
    const send = this.base.protocol === 'https:' ? httpsRequest : httpRequest;
    const length: Record<string, string> =
      call.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(call.body)) };
    return await new Promise<Answer>((resolve, reject) => {
      const request = send(
        {
          protocol: this.base.protocol,
          hostname: this.base.hostname.replace(/^\[|\]$/g, ''),
          port: this.base.port,
          method: call.method,
          path: this.target(call.path),
          headers: { ...length, ...call.headers },
          agent: this.#agent,
          timeout: call.timeoutMs ?? TIMEOUT_MS,
        },
        (response) => {
          const parts: Buffer[] = [];
          let bytes = 0;
          response.on('data', (part: Buffer) => {
            bytes += part.length;
            if (bytes > MAX_ANSWER_BYTES) request.destroy(new Error(`the answer is over ${MAX_ANSWER_BYTES} bytes`));
            else parts.push(part);
          });
          response.once('error', reject);
          response.once('end', () => {
            const text = Buffer.concat(parts).toString('utf8');
            const ms = performance.now() - start;
            resolve({
              call,
              status: response.statusCode ?? 0,
              headers: response.headers,
              text,
              json: readJson(text),
              ms,
            });
          });
        },
      );
      request.once('timeout', () => request.destroy(new Error(`no answer within ${call.timeoutMs ?? TIMEOUT_MS} ms`)));
      request.once('error', reject);
      request.end(call.body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
