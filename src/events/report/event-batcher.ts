import type { EventLogMark } from '../../protocol/event-log.ts';
import { MAX_EVENT_POST_BYTES, MAX_EVENTS_PER_POST, type AgentEvent } from '../../protocol/event.ts';
import { askedWaitMs, backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Wake } from '../../runtime/wake.ts';
import { EventBuffer, type BufferedEvent } from './event-buffer.ts';

/** How a post of events ended. */
export type PostOutcome =
  | { readonly state: 'accepted'; readonly log?: EventLogMark }
  /** Never taken as it is (400, 413); `index` names the event at fault where the answer does. */
  | { readonly state: 'rejected'; readonly tooLarge: boolean; readonly index?: number; readonly message: string }
  /** Try again, not before `afterMs` where that is given. */
  | { readonly state: 'retry'; readonly message: string; readonly afterMs?: number };

export interface EventBatcherDeps {
  /** Posts one batch. Waits by itself while the operator may not speak (401, 403); rejects only when aborted. */
  readonly post: (events: readonly AgentEvent[], signal: AbortSignal) => Promise<PostOutcome>;
  /** The next sequence number. @throws where it cannot be persisted now */
  readonly sequence: (signal: AbortSignal) => Promise<string>;
  /** Read at every flush, so that a changed interval counts at once. */
  readonly batch: () => { readonly size: number; readonly ms: number };
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Something was dropped; called with the count since the start. */
  readonly onDropped: (dropped: number) => void;
  /** The buffer is empty again after drops: time for a full snapshot. */
  readonly onDrained: () => void;
  readonly capacity?: number;
}

const RETRY = { minMs: 1000, maxMs: 30_000 };
/** Room for the envelope around the events. */
const MAX_BATCH_BYTES = MAX_EVENT_POST_BYTES - 4096;

/**
 * Posts events in batches: when `size` of them wait or `ms` have passed since the first, whichever is first. A failed batch
 * stays at the head and goes again, under the same keys and sequence numbers. The latest heartbeat rides along, outside
 * the buffer, so that it neither fills it nor is dropped from it.
 */
export class EventBatcher {
  readonly #deps: EventBatcherDeps;
  readonly #buffer: EventBuffer;
  readonly #wake = new Wake();
  #heartbeat: BufferedEvent | undefined;
  #reportedDrops = 0;
  #snapshotDue = false;
  /** In milliseconds; nothing is posted before, not even at the end. */
  #notBefore = 0;

  constructor(deps: EventBatcherDeps) {
    this.#deps = deps;
    this.#buffer = new EventBuffer(deps.capacity);
  }

  get size(): number {
    return this.#buffer.size;
  }

  /** Whether the control plane has not yet taken all that was said of the object of this UID. */
  owes(uid: string): boolean {
    return this.#snapshotDue || this.#buffer.isAbout(uid);
  }

  enqueue(event: AgentEvent): void {
    this.#buffer.push(event);
    this.#noteDrops();
    this.#wake.ring();
  }

  /** Replaces a heartbeat that was not sent yet. */
  beat(event: AgentEvent): void {
    this.#heartbeat = { event };
    this.#wake.ring();
  }

  /** `batch` answers something else now: what waits is sent by the new interval. */
  intervalChanged(): void {
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#fill(signal);
        await this.#flush(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.logger.warn({ err: error }, 'events could not be sent, they are kept');
        await this.#deps.clock.sleep(backoffMs(RETRY, 1, this.#deps.random), signal).catch(() => undefined);
      }
    }
  }

  /** One last attempt with what is there, at shutdown, where the control plane did not ask for patience. */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.#deps.clock.now().getTime() < this.#notBefore) return;
    while (this.#pending() > 0 && !signal.aborted) {
      const outcome = await this.#send(this.#take(), signal);
      if (outcome.state === 'retry') return;
    }
  }

  #pending(): number {
    return this.#buffer.size + (this.#heartbeat === undefined ? 0 : 1);
  }

  /** Until a batch is due. */
  async #fill(signal: AbortSignal): Promise<void> {
    while (this.#pending() === 0) await this.#wake.wait(signal);
    const since = this.#deps.clock.now().getTime();
    for (;;) {
      const left = since + this.#deps.batch().ms - this.#deps.clock.now().getTime();
      if (left <= 0 || this.#pending() >= this.#deps.batch().size) return;
      await this.#wake.waitAtMost(left, this.#deps.clock, signal);
    }
  }

  /** Until nothing is left or less than a batch came meanwhile. */
  async #flush(signal: AbortSignal): Promise<void> {
    let failures = 0;
    do {
      const outcome = await this.#send(this.#take(), signal);
      if (outcome.state !== 'retry') {
        failures = 0;
        continue;
      }
      failures += 1;
      const { message, afterMs } = outcome;
      const { random } = this.#deps;
      const wait = askedWaitMs(afterMs, backoffMs(RETRY, failures, random), random);
      this.#deps.logger.debug({ message, wait, waiting: this.#pending() }, 'events are kept and sent again');
      this.#notBefore = this.#deps.clock.now().getTime() + wait;
      await this.#deps.clock.sleep(wait, signal);
    } while (failures > 0 || this.#pending() >= this.#deps.batch().size);
    if (this.#snapshotDue && this.#buffer.size === 0) {
      this.#snapshotDue = false;
      this.#deps.onDrained();
    }
  }

  #take(): readonly BufferedEvent[] {
    const size = Math.min(this.#deps.batch().size, MAX_EVENTS_PER_POST);
    const waiting = this.#buffer.peek(size);
    const all = this.#heartbeat === undefined || waiting.length >= size ? waiting : [...waiting, this.#heartbeat];
    return withinBytes(all);
  }

  async #send(entries: readonly BufferedEvent[], signal: AbortSignal): Promise<PostOutcome> {
    for (const entry of entries) {
      if (entry.event.sequence !== undefined) continue;
      entry.event = { ...entry.event, sequence: await this.#deps.sequence(signal) };
    }
    const outcome = await this.#deps.post(
      entries.map(({ event }) => event),
      signal,
    );
    if (outcome.state === 'accepted') this.#settle(entries);
    if (outcome.state === 'rejected') return this.#divide(entries, outcome, signal);
    return outcome;
  }

  /** A batch is taken whole or not at all: the event at fault goes, the others are sent. */
  async #divide(
    entries: readonly BufferedEvent[],
    outcome: Extract<PostOutcome, { readonly state: 'rejected' }>,
    signal: AbortSignal,
  ): Promise<PostOutcome> {
    const named = outcome.index === undefined ? undefined : entries[outcome.index];
    const culprit = entries.length === 1 ? entries[0] : named;
    if (culprit !== undefined) {
      this.#deps.logger.error(
        { eventKey: culprit.event.eventKey, message: outcome.message },
        'an event was refused for good and is dropped',
      );
      this.#settle([culprit], 'dropped');
      const others = entries.filter((entry) => entry !== culprit);
      return others.length === 0 ? { state: 'accepted' } : this.#send(others, signal);
    }
    const middle = Math.ceil(entries.length / 2);
    const first = await this.#send(entries.slice(0, middle), signal);
    return first.state === 'retry' ? first : this.#send(entries.slice(middle), signal);
  }

  #settle(entries: readonly BufferedEvent[], how: 'sent' | 'dropped' = 'sent'): void {
    if (this.#heartbeat !== undefined && entries.includes(this.#heartbeat)) this.#heartbeat = undefined;
    const buffered = entries.filter(({ event }) => event.kind !== 'ClusterHeartbeat');
    if (how === 'sent') this.#buffer.remove(buffered);
    else this.#buffer.discard(buffered);
    this.#noteDrops();
  }

  #noteDrops(): void {
    if (this.#buffer.dropped === this.#reportedDrops) return;
    this.#reportedDrops = this.#buffer.dropped;
    this.#snapshotDue = true;
    this.#deps.onDropped(this.#reportedDrops);
  }
}

/** As many from the head as one post may hold, at least one. */
function withinBytes(entries: readonly BufferedEvent[]): readonly BufferedEvent[] {
  let bytes = 0;
  const end = entries.findIndex(({ event }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event)) + 64;
    return index > 0 && bytes > MAX_BATCH_BYTES;
  });
  return end === -1 ? entries : entries.slice(0, end);
}
