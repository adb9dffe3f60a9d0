import type { AgentEvent } from '../../protocol/event.ts';

/** Specification, "Limits". */
export const DEFAULT_BUFFER_CAPACITY = 1000;

/** An event on its way. `sequence` is given once, at the first attempt, and kept for every replay. */
export interface BufferedEvent {
  event: AgentEvent;
}

/**
 * Events that wait to be posted, oldest first. Bounded: when it is full the oldest gives way, whatever its kind, and is
 * counted. A batch in flight keeps its place, so that a failed one is sent again in order.
 */
export class EventBuffer {
  readonly #capacity: number;
  #entries: BufferedEvent[] = [];
  #dropped = 0;

  constructor(capacity: number = DEFAULT_BUFFER_CAPACITY) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Events that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  push(event: AgentEvent): void {
    this.#entries.push({ event });
    if (this.#entries.length <= this.#capacity) return;
    this.#entries.shift();
    this.#dropped += 1;
  }

  /** Whether anything about the object of this UID still waits. */
  isAbout(uid: string): boolean {
    return this.#entries.some(({ event }) => event.resourceRef.uid === uid);
  }

  /** The oldest entries, which stay until `remove`: what is dropped meanwhile is simply not there any more. */
  peek(count: number): readonly BufferedEvent[] {
    return this.#entries.slice(0, count);
  }

  remove(entries: readonly BufferedEvent[]): void {
    const gone = new Set(entries);
    this.#entries = this.#entries.filter((entry) => !gone.has(entry));
  }

  /** Counts events that were given up for another cause, such as one that the control plane refuses. */
  discard(entries: readonly BufferedEvent[]): void {
    this.remove(entries);
    this.#dropped += entries.length;
  }
}
