import type { Clock } from '../runtime/clock.ts';
import {
  deleteEvents,
  deleteHeartbeatsBefore,
  deleteMessagesBefore,
  deleteMessagesBeyond,
  eventsBefore,
  outdatedEvents,
} from './store/old-reports.ts';
import type { Store } from './store/open-store.ts';

/** A fleet of ten thousand sends as many a minute. What they say is folded into current status when they come. */
export const HEARTBEATS_KEPT_MS = 3_600_000;
export const EVENTS_KEPT_MS = 90 * 24 * 3_600_000;
export const MESSAGES_KEPT_MS = 90 * 24 * 3_600_000;
/** Of one organization. */
export const MAX_MESSAGES = 10_000;

/** Rows in one write, so that it holds up other writes for a moment only. */
const CHUNK = 500;
/** Chunks in one turn. */
const MAX_CHUNKS = 40;

/**
 * Keeps the tables of what clusters report from growing for ever. The audit is kept; current status is bounded by what
 * there is. An event that is still how something stands stays, whatever its age.
 */
export class ReportRetention {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Events up to this number were looked at; what was kept is looked at again in the next round. */
  #lookedAt = 0;

  constructor(deps: { readonly store: Store; readonly clock: Clock }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
  }

  /** One turn. A second one with nothing old deletes nothing. */
  async turn(): Promise<void> {
    const before = (ms: number): string => new Date(this.#clock.now().getTime() - ms).toISOString();
    await this.#inChunks(async () => {
      const at = before(HEARTBEATS_KEPT_MS);
      return await this.#store.write(async (trx) => await deleteHeartbeatsBefore(trx, at, CHUNK));
    });
    await this.#inChunks(async () => await this.#forgetEvents(before(EVENTS_KEPT_MS)));
    await this.#inChunks(async () => {
      const at = before(MESSAGES_KEPT_MS);
      return await this.#store.write(async (trx) => await deleteMessagesBefore(trx, at, CHUNK));
    });
    await this.#store.write(async (trx) => await deleteMessagesBeyond(trx, MAX_MESSAGES, CHUNK * MAX_CHUNKS));
  }

  async #inChunks(chunk: () => Promise<number>): Promise<void> {
    for (let done = 0; done < MAX_CHUNKS; done += 1) if ((await chunk()) < CHUNK) return;
  }

  async #forgetEvents(at: string): Promise<number> {
    const old = await eventsBefore(this.#store.db, at, { after: this.#lookedAt, limit: CHUNK });
    const last = old.at(-1);
    if (last !== undefined) {
      await this.#store.write(async (trx) => {
        await deleteEvents(trx, await outdatedEvents(trx, old));
      });
    }
    this.#lookedAt = last === undefined || old.length < CHUNK ? 0 : last.seq;
    return old.length;
  }
}
