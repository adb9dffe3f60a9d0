import type { RunningControlPlane } from '../running-control-plane.ts';

/** One event of a stream, or its comment. */
export interface Told {
  readonly event: string;
  readonly id?: number;
  readonly data?: Record<string, unknown>;
}

/** A client of `GET /changes` that reads as the page does. */
export class Follower implements AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #stop: AbortController;
  readonly #decoder = new TextDecoder();
  #text = '';

  private constructor(answer: Response, stop: AbortController) {
    this.status = answer.status;
    this.headers = answer.headers;
    this.#stop = stop;
    if (answer.body === null) throw new Error('there is no body');
    this.#reader = answer.body.getReader();
  }

  static async open(
    plane: Pick<RunningControlPlane, 'url' | 'token'>,
    query = '',
    { token = plane.token, headers = {} }: { readonly token?: string; readonly headers?: Record<string, string> } = {},
  ): Promise<Follower> {
    const stop = new AbortController();
    const answer = await fetch(`${plane.url}/api/v1/changes${query}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: stop.signal,
    });
    return new Follower(answer, stop);
  }

  /** The next block; undefined at the end of the stream. */
  async next(): Promise<Told | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const told = toldIn(block);
        if (told !== undefined) return told;
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Reads on until that many changes came. */
  async changes(count: number): Promise<Told[]> {
    const told: Told[] = [];
    while (told.length < count) {
      const one = await this.next();
      if (one === undefined) throw new Error(`the stream ended after ${JSON.stringify(told)}`);
      if (one.event === 'change' || one.event === 'reset') told.push(one);
    }
    return told;
  }

  /** Reads on until a change fits. */
  async until(fits: (told: Told) => boolean): Promise<Told[]> {
    const told: Told[] = [];
    for (;;) {
      const one = await this.next();
      if (one === undefined) throw new Error(`the stream ended after ${JSON.stringify(told)}`);
      told.push(one);
      if (fits(one)) return told;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#reader.cancel().catch(() => undefined);
  }
}

/** Undefined: nothing but how soon to come back. */
function toldIn(block: string): Told | undefined {
  const lines = block.split('\n');
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const id = field('id');
  const data = field('data');
  if (field('retry') !== undefined) return undefined;
  return {
    event: field('event') ?? 'comment',
    ...(id === undefined ? {} : { id: Number(id) }),
    ...(data === undefined ? {} : { data: JSON.parse(data) as Record<string, unknown> }),
  };
}
