import type { RenderInputs } from '../intent/render.ts';
import type { Rendered, Tombstone } from '../intent/rendered.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { ResourceRef } from '../protocol/condition.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import type { SourcePair } from '../resources/source-annotation.ts';

/** Whether a transport's target can be reached and written to now. */
export type Probe =
  | { readonly state: 'ready' }
  | { readonly state: 'unreachable' | 'forbidden'; readonly message: string };

/** A blob that a commit changes: `path` is relative to the cluster's directory, `before` and `after` are blob ids. */
export interface BlobPin {
  readonly path: string;
  /** Absent: nothing stood there. */
  readonly before?: string;
  /** Absent: nothing stands there any more. */
  readonly after?: string;
}

/** How a Git transport brings an intent to the branch where it is not to land there at once. */
export type Review =
  /** On a branch of its own. `replaces` is that branch's head now, where there is one. */
  | { readonly kind: 'propose'; readonly branch: string; readonly replaces?: string }
  /** Onto the branch, and only if what was approved is still what it means: else the receipt is `moved`. */
  | { readonly kind: 'merge'; readonly pins: readonly BlobPin[]; readonly approvedBy: readonly string[] };

/** What a transport is given. */
export type DeliveryItem = Rendered & {
  readonly review?: Review;
  /**
   * The intent was delivered before, by another way or before a switch that was rolled back: it is delivered once more under
   * the present epoch. What an earlier delivery of it left behind does not count as this one.
   */
  readonly isHandover?: true;
  /**
   * The cluster is known to have had its object. An operation that is absent all the same ran, and runs no second time; an
   * application that is handed over and absent went, and is not made anew.
   */
  readonly wasApplied?: true;
  /** What of the intent's surroundings it was rendered with: to be kept with it by a queue that stores receipts itself. */
  readonly inputs?: RenderInputs;
};

/** What became of one intent of a batch. All but `retry` are final for this batch; that is tried again later. */
export type Receipt =
  | {
      readonly state: 'delivered';
      readonly intentId: string;
      readonly mode: ConnectivityMode;
      /** gitops: the commit that the remote holds. */
      readonly commit?: string;
      /** gitops: tree id of the cluster's directory in the pushed tip: what the operator must reach. */
      readonly revision?: string;
      readonly jobId?: string;
      readonly fieldManager?: string;
      /** push: what was to be deleted is not there, so nobody will report its end. */
      readonly isAbsent?: true;
      /** The delivery itself has stored this receipt, in the same transaction. */
      readonly stored?: true;
    }
  /** A person has to look at it first. */
  | {
      readonly state: 'proposed';
      readonly intentId: string;
      readonly branch: string;
      readonly title: string;
      /** Commit of the branch that it stands on; absent where the branch does not exist yet. */
      readonly base?: string;
      readonly head: string;
      readonly pins: readonly BlobPin[];
    }
  /** A merge whose pins do not hold any more: it is to be proposed anew. */
  | { readonly state: 'moved'; readonly intentId: string; readonly message: string }
  | { readonly state: 'refused'; readonly intentId: string; readonly reason: string; readonly message: string }
  | {
      readonly state: 'retry';
      readonly intentId: string;
      readonly message: string;
      /** push: the target works; only what this intent is about has to wait. */
      readonly alone?: true;
    };

/** Control-plane end of a transport, one per target (a repository, a cluster's queue, an API server). */
export interface Delivery extends AsyncDisposable {
  /** Reachable, and may it write? Leaves no trace. */
  probe(signal: AbortSignal): Promise<Probe>;
  /** Yields one receipt per intent of the batch, each as soon as it is true. Repeating a batch delivers nothing twice. */
  deliver(batch: readonly DeliveryItem[], signal: AbortSignal): AsyncIterable<Receipt>;
}

/** One object that a source wants in the cluster. `key` names it for `settle`: a path in Git, a job id. */
export interface DesiredItem {
  readonly key: string;
  readonly object: KubeObject;
}

/** One deletion that a source asks for. */
export interface Removal {
  readonly key: string;
  readonly tombstone: Tombstone;
}

/** A part of the source that could not be read: it is named in a condition and the rest goes on. */
export interface SourceFault {
  readonly key: string;
  readonly reason: string;
  readonly message: string;
}

/** An object whose manifest vanished, and that is to go for it: only where its inventory record says just this. */
export interface Prune {
  /** Of the manifest that is not there any more. */
  readonly key: string;
  readonly uid: string;
}

/** What a transport wants in the cluster, pinned to one revision where it has any. */
export interface DesiredSet {
  /** Absent where the source has none: jobs, and a set that brings only a fault. Never empty. */
  readonly revision?: string;
  /** `complete`: whatever is not in it has vanished from the source, which is reported; `partial`: a few objects. */
  readonly scope: 'complete' | 'partial';
  readonly objects: readonly DesiredItem[];
  readonly removals: readonly Removal[];
  /** Vanished from a complete reading that can be trusted, by a cluster's own choice to prune. Absent: nothing goes. */
  readonly prunes?: readonly Prune[];
  /** A person has looked at just these. */
  readonly isAccepted?: boolean;
  /** The commit that it was read from is signed by one who may, which was verified. */
  readonly isSigned?: boolean;
  readonly faults: readonly SourceFault[];
}

/** What the core did with one item. */
export type Outcome =
  | {
      readonly state: 'applied' | 'unchanged' | 'deleted' | 'absent';
      /** The object as it stands, with uid and generation; for `deleted` the one that goes. */
      readonly ref?: ResourceRef;
    }
  | {
      readonly state: 'failed' | 'conflict' | 'refused' | 'stale';
      readonly reason: string;
      readonly message: string;
      /** The server has looked at the object and will not have it: the same once more changes nothing. */
      readonly isLasting?: true;
      /** With `stale`: the newer pair that the cluster has of the object. */
      readonly newer?: SourcePair;
      /** With `stale`: of an earlier delivery epoch, and so is what the cluster has or had of the object: no fault. */
      readonly isPast?: true;
    };

/** Operator end of a transport. */
export interface Source extends AsyncDisposable {
  desired(signal: AbortSignal): AsyncIterable<DesiredSet>;
  /** Tells the source what became of an item or removal (`key`): pull posts the result, gitops records the revision. */
  settle(key: string, outcome: Outcome): Promise<void>;
}
