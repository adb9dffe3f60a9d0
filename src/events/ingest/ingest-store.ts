import type { ResourceRef } from '../../protocol/condition.ts';
import type { AgentEvent, EventKind } from '../../protocol/event.ts';
import type { ChannelNews } from './channel-news.ts';

/** An event as it is recorded. */
export interface EventRecord {
  readonly event: AgentEvent;
  /** With the event key, what tells a replay from a new event. */
  readonly fingerprint: string;
}

/** One condition of one resource, at its place in the fold. */
export interface FoldedCondition {
  readonly uid: string;
  readonly event: AgentEvent;
  readonly condition: AgentEvent['conditions'][number];
  readonly orderKey: string;
}

export interface AgentAuditEntry {
  readonly kind: EventKind | 'ApprovalRefused';
  readonly summary: string;
  readonly reason?: string;
  readonly eventSeq: number;
  /** What the event is about: the summary, which the specification fixes, does not say it. */
  readonly resourceRef: ResourceRef;
  /** Of the intent that the event names as its source. */
  readonly intentId?: string;
}

/** How far an intent has come, as reports move it. `proposed` and before are the control plane's own steps. */
export type ReportedState = 'applied' | 'ready' | 'failed' | 'removed';

export interface IntentSnapshot {
  readonly id: string;
  readonly action: 'install' | 'update' | 'uninstall' | 'operate';
  /** The object that it is about; a report on any other says nothing of it. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Id of the intent whose operation it cancels. */
  readonly cancels?: string | null | undefined;
  readonly state: ReportedState | 'accepted' | 'proposed' | 'delivered' | 'superseded';
}

export interface IntentMove {
  readonly id: string;
  readonly state: ReportedState;
  /** Why it failed; absent clears what an earlier failure said. */
  readonly reason?: string;
  /** It failed before the cluster API took its object. */
  readonly notApplied?: true;
}

/** What ingest needs of a database. One instance is for one cluster, inside one transaction. */
export interface IngestStore {
  /**
   * Records those events that are not recorded yet.
   *
   * @returns the index and the number of each new one, in the order of `records`
   */
  recordEvents(records: readonly EventRecord[]): Promise<readonly { readonly index: number; readonly seq: number }[]>;
  /**
   * Puts each condition in place unless a later one is there; at most one per uid and type.
   *
   * @returns those that are now the current ones
   */
  foldConditions(conditions: readonly FoldedCondition[]): Promise<readonly FoldedCondition[]>;
  appendAudit(entries: readonly AgentAuditEntry[]): Promise<void>;
  /**
   * Tells the organization's discussion channel, once for each outcome.
   *
   * @returns how many messages it came to
   */
  tellChannel(news: readonly ChannelNews[]): Promise<number>;
  /** Those of the cluster's intents that `ids` names, and what cancels them or is cancelled by them. */
  findIntents(ids: readonly string[]): Promise<readonly IntentSnapshot[]>;
  moveIntents(moves: readonly IntentMove[]): Promise<void>;
  setAppliedRevision(revision: string): Promise<void>;
}
