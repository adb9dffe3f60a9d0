import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { CHANNEL_REASONS, type ChannelCategory } from './channel-reasons.ts';
import { resourceKey } from './fold-events.ts';

/** An outcome that an event tells of, for the organization's discussion channel. */
export interface ChannelNews {
  /** The same for the same outcome, under whatever event key it is reported again; JSON of what it consists of. */
  readonly identity: string;
  readonly category: ChannelCategory;
  readonly reason: string;
  readonly resourceRef: ResourceRef;
  /** What the condition says, for people; may be empty. */
  readonly message: string;
  /** `<event kind>/<condition type>`. */
  readonly toldBy: string;
  /** The event's own time, RFC 3339. */
  readonly toldAt: string | undefined;
  readonly intentId: string | undefined;
  readonly eventSeq: number;
}

/**
 * What the channel has to hear of a new event: one entry for each of its conditions whose reason is an outcome's. A
 * heartbeat tells nothing new: it repeats the conditions that were reported when they came about.
 *
 * The identity leaves the generation out where the condition has a transition time: a spec change that changes nothing
 * visible is reported under another key (decisions, "Events") and is no second outcome.
 */
export function channelNewsOf(event: AgentEvent, eventSeq: number): ChannelNews[] {
  if (event.kind === 'ClusterHeartbeat') return [];
  return event.conditions.flatMap((condition): ChannelNews[] => {
    const { reason = '', message = '' } = condition;
    const known = CHANNEL_REASONS.get(reason);
    if (known === undefined) return [];
    return [
      {
        identity: identityOf(event.resourceRef, condition),
        category: known.category,
        reason,
        resourceRef: event.resourceRef,
        message,
        toldBy: `${event.kind}/${condition.type}`,
        toldAt: event.timestamp,
        intentId: event.source?.intentId,
        eventSeq,
      },
    ];
  });
}

function identityOf(ref: ResourceRef, { type, reason = '', message = '', lastTransitionTime }: Condition): string {
  const when = lastTransitionTime ?? ref.generation ?? null;
  return JSON.stringify([resourceKey(ref), type, reason, message, when]);
}
