import type { Outcome, SourceFault } from '../delivery/delivery.ts';
import type { ObjectRef } from '../resources/kube-object.ts';

/** What one pass over a desired set came to. Nothing in it is thrown: one bad item never stops the rest. */
export interface ApplyReport {
  /** Absent where the source has none. */
  readonly revision?: string;
  /** Whether the set was the whole of what is wanted; else what vanished from it is not known. */
  readonly complete: boolean;
  /** The pass ended before its last item, as another mode or delivery epoch is in force: of the others nothing is known. */
  readonly isCut?: boolean;
  /** By the key of the item or removal. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** The keys among them that are of removals. */
  readonly removals: ReadonlySet<string>;
  /** The keys among those of objects whose file vanished: no file stands behind them. */
  readonly pruned: ReadonlySet<string>;
  /** Still in the cluster although their file vanished from a complete source, and no tombstone asked for it. */
  readonly removedWithoutTombstone: readonly ObjectRef[];
  /** The parts of the source that could not be read, as they came in the set. */
  readonly faults: readonly SourceFault[];
  /** Some item may go through later with nothing new in the source: apply the same set again, with backoff. */
  readonly retryable: boolean;
}
