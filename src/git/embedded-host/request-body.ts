import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** The body is larger than is taken, as sent or once inflated. */
export class BodyTooLargeError extends Error {
  constructor(limit: number) {
    super(`the body is larger than ${limit} bytes`);
    this.name = 'BodyTooLargeError';
  }
}

/**
 * A request's body, inflated when it came with gzip and never more than `maxBytes` of it. It is read by `next` and can
 * be put down and taken up again; whoever answers before its end drains it, so that the client is not cut off while it
 * still sends.
 */
export class RequestBody implements AsyncIterable<Buffer> {
  readonly #chunks: AsyncIterator<unknown>;
  readonly #maxBytes: number;
  /** Rejects when the request is given up: a client that stops sending without going away holds nothing. */
  readonly #aborted: Promise<never>;
  #size = 0;

  constructor(deps: {
    readonly source: Readable;
    readonly gzip: boolean;
    readonly maxBytes: number;
    readonly signal: AbortSignal;
  }) {
    const source: Readable = deps.gzip ? pipeline(deps.source, createGunzip(), () => undefined) : deps.source;
    this.#chunks = source.iterator({ destroyOnReturn: false });
    this.#maxBytes = deps.maxBytes;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    const onAbort = (): void => reject(new Error('the request was given up', { cause: deps.signal.reason }));
    if (deps.signal.aborted) onAbort();
    else deps.signal.addEventListener('abort', onAbort, { once: true });
    this.#aborted = promise;
  }

  async next(): Promise<IteratorResult<Buffer, undefined>> {
    const { done, value } = await Promise.race([this.#chunks.next(), this.#aborted]);
    if (done === true) return { done: true, value: undefined };
    const chunk = value as Buffer;
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) throw new BodyTooLargeError(this.#maxBytes);
    return { done: false, value: chunk };
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer, undefined> {
    // No `return`: whoever stops early leaves the rest to be drained.
    return { next: async () => this.next() };
  }

  async drain(): Promise<void> {
    while ((await this.next()).done !== true);
  }
}
