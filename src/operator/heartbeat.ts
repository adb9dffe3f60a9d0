import { heartbeatKey } from '../protocol/event-key.ts';
import type { Condition, ResourceRef } from '../protocol/condition.ts';
import type { AgentEvent, EventSource } from '../protocol/event.ts';
import type { Clock } from '../runtime/clock.ts';
import { Wake } from '../runtime/wake.ts';

export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly intervalMs: () => number;
  readonly ref: () => ResourceRef;
  readonly conditions: () => readonly Condition[];
  readonly source: () => EventSource;
  /** Takes the place of a heartbeat that was not sent yet. */
  readonly beat: (event: AgentEvent) => void;
}

/** Sends a snapshot of the Cluster's conditions at an interval that may change at any time. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #wake = new Wake();

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  intervalChanged(): void {
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    let last = this.#deps.clock.now().getTime();
    while (!signal.aborted) {
      const left = last + this.#deps.intervalMs() - this.#deps.clock.now().getTime();
      if (left > 0) {
        await this.#wake.waitAtMost(left, this.#deps.clock, signal).catch(() => undefined);
        continue;
      }
      last = this.#deps.clock.now().getTime();
      const conditions = this.#deps.conditions();
      // An event has at least one condition; before the first there is nothing to say.
      if (conditions.length > 0) this.#deps.beat(this.#event(conditions));
    }
  }

  #event(conditions: readonly Condition[]): AgentEvent {
    const timestamp = this.#deps.clock.now().toISOString();
    const resourceRef = this.#deps.ref();
    return {
      eventKey: heartbeatKey(resourceRef.uid ?? '', timestamp),
      kind: 'ClusterHeartbeat',
      resourceRef,
      conditions: [...conditions],
      timestamp,
      source: this.#deps.source(),
    };
  }
}
