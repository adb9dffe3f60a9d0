import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import type { EventSource } from '../../protocol/event.ts';

/** One successful status write: what the conditions were before it and what they are now. */
export interface StatusChange {
  /** With `uid` and `generation` where the object has them: both are in the event keys. */
  readonly ref: ResourceRef;
  readonly before: readonly Condition[];
  readonly after: readonly Condition[];
  readonly source: EventSource;
  readonly sourceBefore?: EventSource;
  readonly observedGeneration?: number;
}

/** Takes note of a status write and returns at once; never throws, never waits for the network. */
export interface Reporter {
  statusChanged(change: StatusChange): void;
}
