import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request, type Dispatcher } from 'undici';
import { HTTP_1 } from '../../../src/runtime/http-1.ts';
import { parse } from 'yaml';

// Answers are whatever the server says; the tests assert their shape.
export type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any

export interface HttpAnswer {
  readonly status: number;
  readonly body: Json;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The causes of a refusal; a real server checks the metadata of an update more than once and says so each time. */
export function causesOf(answer: HttpAnswer): Json[] {
  const causes = (answer.body['details']?.['causes'] ?? []) as Json[];
  const text = (cause: Json): string => [cause['field'], cause['reason'], cause['message']].join('\n');
  return [...new Map(causes.map((cause) => [text(cause), cause])).values()];
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const PATCH = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Plain HTTP to an API server, with the address, trust and token of a kubeconfig. */
export class KubeHttp implements AsyncDisposable {
  readonly #url: string;
  readonly #token: string;
  readonly #agent: Agent;

  constructor(kubeconfig: string) {
    const config = parse(kubeconfig) as Json;
    const cluster = config['clusters'][0].cluster as Json;
    const user = config['users'][0].user as Json;
    const pem = (data: unknown): string | undefined =>
      typeof data === 'string' ? Buffer.from(data, 'base64').toString() : undefined;
    this.#url = String(cluster['server']);
    this.#token = String(user['token'] ?? '');
    const [ca, cert, key] = [
      pem(cluster['certificate-authority-data']),
      pem(user['client-certificate-data']),
      pem(user['client-key-data']),
    ];
    this.#agent = new Agent({
      ...HTTP_1,
      connect: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined || key === undefined ? {} : { cert, key }),
      },
    });
  }

  async send(method: Dispatcher.HttpMethod, path: string, options: RequestOptions = {}): Promise<HttpAnswer> {
    const { statusCode, body, headers } = await this.#request(method, path, options);
    const text = await body.text();
    return { status: statusCode, body: text.startsWith('{') ? (JSON.parse(text) as Json) : {}, text, headers };
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    return this.send('GET', path, { headers });
  }

  async post(path: string, body: unknown): Promise<HttpAnswer> {
    return this.send('POST', path, { body });
  }

  async put(path: string, body: unknown): Promise<HttpAnswer> {
    return this.send('PUT', path, { body });
  }

  async delete(path: string, body?: unknown): Promise<HttpAnswer> {
    return this.send('DELETE', path, body === undefined ? {} : { body });
  }

  async patch(path: string, type: keyof typeof PATCH, body: unknown): Promise<HttpAnswer> {
    return this.send('PATCH', path, { body, contentType: PATCH[type] });
  }

  /** Server-side apply. */
  async apply(path: string, manager: string, body: unknown, query = ''): Promise<HttpAnswer> {
    return this.patch(`${path}?fieldManager=${manager}${query}`, 'apply', body);
  }

  /** Watch events as they come, until the server ends the watch or the caller stops reading. */
  async *watch(path: string): AsyncGenerator<Json> {
    const { statusCode, body } = await this.#request('GET', path, {});
    if (statusCode !== 200) throw new Error(`watch answered ${statusCode}: ${await body.text()}`);
    let rest = '';
    for await (const chunk of body) {
      rest += Buffer.from(chunk as Uint8Array).toString();
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as Json;
    }
  }

  /** Asks until the answer is as wanted; real servers do some things a little later. */
  async eventually(path: string, wanted: (answer: HttpAnswer) => boolean, timeoutMs = 60_000): Promise<HttpAnswer> {
    for (const end = Date.now() + timeoutMs; ;) {
      const answer = await this.get(path);
      if (wanted(answer) || Date.now() > end) return answer;
      await delay(20);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #request(
    method: Dispatcher.HttpMethod,
    path: string,
    options: RequestOptions,
  ): Promise<Dispatcher.ResponseData> {
    const { body, contentType = 'application/json', headers = {} } = options;
    return request(`${this.#url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        accept: 'application/json',
        'user-agent': 'contract/1.0 (test)',
        ...(this.#token === '' ? {} : { authorization: `Bearer ${this.#token}` }),
        ...(body === undefined ? {} : { 'content-type': contentType }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }
}
