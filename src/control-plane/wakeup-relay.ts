import { randomUUID } from 'node:crypto';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { repeat } from './repeat.ts';
import { ChangeSweep } from './store/change-sweep.ts';
import type { Store } from './store/open-store.ts';
import type { PostgresSession } from './store/postgres-session.ts';
import type { Wakeups } from './wakeups.ts';

const CHANNEL = 'service_wakeups';
/** PostgreSQL takes payloads below 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7900;
/** Topics that wait to be told. Beyond that the others are told to look at everything. */
const MAX_PENDING = 10_000;
const EVERYTHING = '*';

/** After a gap those who wait look again over this time. */
const SPREAD_MS = 5000;
const SWEEP_MS = 15_000;

export interface WakeupRelayDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Carries wake-ups between replicas by LISTEN and NOTIFY. What is lost costs time and no more:
 *
 * ```
 * notify ─► this process at once ─► told to the others, many topics in one NOTIFY while one is under way
 * a connection was lost ─► whoever waits here looks again; what was not told yet is told then
 * a replica died between its COMMIT and its NOTIFY ─► the sweep finds it, by one query a replica
 * ```
 *
 * On SQLite there are no others and it does nothing.
 */
export class WakeupRelay {
  readonly #deps: WakeupRelayDeps;
  readonly #session: PostgresSession | undefined;
  readonly #sweep: ChangeSweep;
  /** Whose own notifications come back to it and are not heard. */
  readonly #self = randomUUID();
  readonly #pending = new Set<string>();
  #isTelling = false;
  #gap = new AbortController();

  private constructor(deps: WakeupRelayDeps) {
    this.#deps = deps;
    this.#session = deps.store.session;
    this.#sweep = new ChangeSweep(deps);
  }

  /** Hears and tells from now on, until the store is disposed. */
  static async start(deps: WakeupRelayDeps): Promise<WakeupRelay> {
    const relay = new WakeupRelay(deps);
    const session = relay.#session;
    if (session === undefined) return relay;
    deps.wakeups.forwardTo((topic) => relay.#tell(topic));
    session.onConnected(() => relay.#catchUp());
    await session.listen(CHANNEL, (payload) => relay.#hear(payload));
    return relay;
  }

  /** Looks now and then for what was not told, until aborted. */
  async run(stop: AbortSignal): Promise<void> {
    if (this.#session === undefined) return;
    const { clock, logger, random } = this.#deps;
    stop.addEventListener('abort', () => this.#gap.abort(stop.reason), { once: true });
    const onError = (error: unknown): void => logger.warn({ err: error }, 'looking for changes failed; trying again');
    const everyMs = Math.round(SWEEP_MS * (0.8 + 0.4 * random()));
    await repeat({ everyMs, clock, onError }, async () => await this.sweep(), stop);
  }

  /** One look for changes that nobody told of. */
  async sweep(): Promise<void> {
    for (const topic of await this.#sweep.changed()) this.#deps.wakeups.wake(topic);
  }

  #hear(payload: string): void {
    const [sender, ...topics] = payload.split('\n');
    if (sender === this.#self) return;
    for (const topic of topics) {
      if (topic === EVERYTHING) this.#wakeAll();
      else this.#deps.wakeups.wake(topic);
    }
  }

  #tell(topic: string): void {
    this.#pending.add(topic);
    if (this.#pending.size > MAX_PENDING) {
      this.#pending.clear();
      this.#pending.add(EVERYTHING);
    }
    if (!this.#isTelling) void this.#tellAll();
  }

  /** Tells what is pending; never rejects. What comes meanwhile goes with the next; what fails stays for the next connection. */
  async #tellAll(): Promise<void> {
    this.#isTelling = true;
    // Those that are notified in one turn of the event loop go together.
    await new Promise(setImmediate);
    while (this.#pending.size > 0) {
      const topics = this.#takePayload();
      try {
        await this.#session?.query('SELECT pg_notify($1, $2)', [CHANNEL, [this.#self, ...topics].join('\n')]);
      } catch {
        for (const topic of topics) this.#pending.add(topic);
        break;
      }
    }
    this.#isTelling = false;
  }

  #takePayload(): string[] {
    const topics: string[] = [];
    let bytes = this.#self.length;
    for (const topic of this.#pending) {
      bytes += Buffer.byteLength(topic) + 1;
      if (bytes > MAX_PAYLOAD_BYTES && topics.length > 0) break;
      this.#pending.delete(topic);
      topics.push(topic);
    }
    return topics;
  }

  /** Connected again: what was told meanwhile was not heard here. */
  #catchUp(): void {
    this.#wakeAll();
    const [pending] = this.#pending;
    if (pending !== undefined) this.#tell(pending);
  }

  /** A second gap begins the round anew. */
  #wakeAll(): void {
    this.#gap.abort(new Error('another gap'));
    this.#gap = new AbortController();
    this.#deps.wakeups.wakeAll(SPREAD_MS, this.#gap.signal).catch(() => undefined);
  }
}
