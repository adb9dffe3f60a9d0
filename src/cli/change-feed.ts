import { randomBytes } from 'node:crypto';
import { Agent, fetch } from 'undici';
import { backoffMs } from '../runtime/backoff.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { HTTP_1 } from '../runtime/http-1.ts';
import type { CallDeps, ConnectionOptions } from './connection.ts';
import { resolveConnection } from './resolve-connection.ts';
import { readServerEvents } from './sse-reader.ts';

/** The control plane says something every 15 s: a stream that is silent for so long is dead. */
const SILENCE_MS = 45_000;
/** Between two looks where there is no stream, and where there is one, which might lose something. */
const POLL_MS = 2000;
const LIVE_POLL_MS = 15_000;
/** What changes in a burst is looked at once. */
const SETTLE_MS = 200;
const BACKOFF = { minMs: 500, maxMs: 15_000 } as const;

/** Streams stay open; they are none of the connections that calls share. */
const dispatcher = new Agent({ ...HTTP_1, headersTimeout: 15_000, bodyTimeout: SILENCE_MS });

/** What is to be told of: `resource` with commas between several, `cluster` as id or slug. */
export interface FollowedChanges {
  readonly resource: string;
  readonly cluster?: string | undefined;
}

/**
 * Says when it is worth to look again: by `GET /changes`, resumed where it broke off, and by the clock where there is no
 * stream, as with a control plane that has none or a proxy that holds it back. What is looked at decides, never the stream.
 */
export class ChangeFeed implements AsyncDisposable {
  readonly #options: ConnectionOptions;
  readonly #deps: CallDeps;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #last: string | undefined;
  #isLive = false;
  #isNew = false;
  #wake: (() => void) | undefined;

  constructor(options: ConnectionOptions, deps: CallDeps, { resource, cluster }: FollowedChanges) {
    this.#options = options;
    this.#deps = deps;
    this.#clock = deps.clock ?? systemClock;
    const query = new URLSearchParams({ resource, ...(cluster === undefined ? {} : { cluster }) });
    this.#path = `/changes?${query.toString()}`;
    this.#running = this.#run();
  }

  /** Resolves when something may have changed since it resolved last, or after `ms` at the most. */
  async changed(ms = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#isNew) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const wait = Math.min(ms, this.#isLive ? LIVE_POLL_MS : POLL_MS);
      await this.#sleep(wait, AbortSignal.any([woken.signal, this.#stop.signal]));
      this.#wake = undefined;
    }
    if (this.#isNew) await this.#sleep(Math.min(ms, SETTLE_MS), this.#stop.signal);
    this.#isNew = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { randomBytes: random = randomBytes } = this.#deps;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await this.#follow(signal, () => (attempt = 0));
      } catch {
        // Whoever looks meets the same trouble, and says it.
      }
      this.#isLive = false;
      await this.#sleep(
        backoffMs(BACKOFF, Math.max(1, attempt), () => (random(1)[0] ?? 0) / 256),
        signal,
      );
    }
  }

  async #follow(signal: AbortSignal, works: () => void): Promise<void> {
    const { baseUrl, organization, token } = resolveConnection(this.#options, { err: () => undefined, ...this.#deps });
    const answer = await fetch(`${baseUrl}/api/v1${this.#path}`, {
      dispatcher,
      // Not followed: whoever looks meets it too, and says it.
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${(await token()).expose()}`,
        accept: 'text/event-stream',
        ...(organization === undefined ? {} : { 'service-organization': organization }),
        ...(this.#last === undefined ? {} : { 'last-event-id': this.#last }),
      },
      signal,
    });
    if (!answer.ok || answer.body === null) {
      await answer.body?.cancel();
      return;
    }
    for await (const { event, id } of readServerEvents(answer.body)) {
      works();
      // What came before the stream began may not have been seen.
      if (!this.#isLive || event !== 'comment') this.#tell();
      this.#isLive = true;
      this.#last = id ?? this.#last;
    }
  }

  #tell(): void {
    this.#isNew = true;
    this.#wake?.();
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
