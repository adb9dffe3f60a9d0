import { Agent, request } from 'undici';
import { HTTP_1 } from '../../runtime/http-1.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';

const CONNECT_TIMEOUT_MS = 5000;
const SILENCE_MS = 5000;
/** From the first byte to the last. Somebody waits for it. */
const WHOLE_MS = 8000;
const MAX_BYTES = 512 * 1024;

/** Reads JSON documents of the identity provider, which the environment names: it may be anywhere, also in a private network. */
export class JsonReader implements AsyncDisposable {
  readonly #agent = new Agent({
    ...HTTP_1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
    connections: 2,
  });

  /** @throws Error with a line that may be shown: no answer, another status, too long, not JSON */
  async read(url: string, signal: AbortSignal): Promise<unknown> {
    const answer = await request(url, {
      dispatcher: this.#agent,
      headers: { accept: 'application/json', 'user-agent': `service-control-plane/${PROJECT_VERSION}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(WHOLE_MS)]),
    });
    answer.body.on('error', () => undefined);
    try {
      if (answer.statusCode !== 200) throw new Error(`${url} answers ${answer.statusCode}`);
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > MAX_BYTES) throw new Error(`${url} answers more than ${MAX_BYTES} bytes`);
        chunks.push(chunk);
      }
      return parse(Buffer.concat(chunks).toString('utf8'), url);
    } finally {
      answer.body.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}

function parse(text: string, url: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`${url} does not answer JSON`);
  }
}
