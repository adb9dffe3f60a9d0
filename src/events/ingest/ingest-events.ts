import { auditEntryFor } from '../../protocol/durable-entry.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { eventFingerprint } from '../../protocol/event-key.ts';
import { appliedRevision } from './applied-revision.ts';
import { channelNewsOf, type ChannelNews } from './channel-news.ts';
import { foldEvents } from './fold-events.ts';
import type { AgentAuditEntry, IngestStore, IntentMove } from './ingest-store.ts';
import { intentIdsOf, moveIntents } from './move-intents.ts';
import { refusedApprovalIn } from './refused-approval.ts';

export interface IngestOutcome {
  /** Events that were new; the rest of the post were replays. */
  readonly recorded: number;
  readonly audited: number;
  /** Messages for the discussion channel. */
  readonly told: number;
  readonly moves: readonly IntentMove[];
  /** Set when the cluster reports another applied revision. */
  readonly appliedRevision: string | undefined;
}

/**
 * Takes in one post of events, in the reading order of the specification's ingest path: record what is new, fold it into
 * current status, audit it, tell the discussion channel, move the intents it speaks of. All of it belongs in one transaction, so that a crash leaves
 * either nothing of a post or all of it, and a replay changes nothing.
 *
 * @param deps.deliveryEpoch the cluster's, as it stands inside the same transaction
 */
export async function ingestEvents(deps: {
  readonly store: IngestStore;
  readonly deliveryEpoch: number;
  readonly events: readonly AgentEvent[];
}): Promise<IngestOutcome> {
  const { store, deliveryEpoch, events } = deps;
  const recorded = await store.recordEvents(events.map((event) => ({ event, fingerprint: eventFingerprint(event) })));
  const audits: AgentAuditEntry[] = [];
  const news: ChannelNews[] = [];
  for (const { index, seq } of recorded) {
    const event = events[index];
    if (event === undefined) continue;
    const { resourceRef, source } = event;
    const durable = auditEntryFor(event);
    const entry = durable === undefined ? refusedApprovalIn(event) : { kind: event.kind, ...durable };
    if (entry !== undefined) {
      const intent = source?.intentId === undefined ? {} : { intentId: source.intentId };
      audits.push({ ...entry, eventSeq: seq, resourceRef, ...intent });
    }
    news.push(...channelNewsOf(event, seq));
  }
  // Replays too, which their order keeps from changing anything: what an object's conditions were and are, told under another
  // delivery epoch, is the same event by its key, and yet the newest word on where they come from.
  const current = events.length === 0 ? [] : await store.foldConditions(foldEvents(events));
  if (audits.length > 0) await store.appendAudit(audits);
  const told = news.length === 0 ? 0 : await store.tellChannel(news);
  // Replays too: an intent that changes nothing visible is reported by the very conditions of the one before it.
  const ids = intentIdsOf(events);
  const moves = ids.length === 0 ? [] : moveIntents(await store.findIntents(ids), events, deliveryEpoch);
  if (moves.length > 0) await store.moveIntents(moves);
  const revision = appliedRevision(current, deliveryEpoch);
  if (revision !== undefined) await store.setAppliedRevision(revision);
  return { recorded: recorded.length, audited: audits.length, told, moves, appliedRevision: revision };
}
