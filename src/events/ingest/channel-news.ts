import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { Reason } from '../../resources/reasons.ts';
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
  /** How a deploy stands; absent for what is no state of an application. */
  readonly standing?: Standing;
}

/** What an application is said to be, so that the same is not told again as long as nothing else became of it. */
export interface Standing {
  /** UID of the object, or its kind, namespace and name. */
  readonly object: string;
  readonly isGood: boolean;
  /** The same for the same outcome, whichever condition says it and whenever; JSON of what it consists of. */
  readonly outcome: string;
}

/**
 * What the channel has to hear of a new event: one entry for each of its conditions whose reason is an outcome's. A
 * heartbeat tells nothing new: it repeats the conditions that were reported when they came about.
 *
 * The identity leaves the generation out where the condition has a transition time: a spec change that changes nothing
 * visible is reported under another key (decisions, "Events") and is no second outcome. A transition alone is none either:
 * a release that was suspended, waited, or was looked at anew becomes Ready once more, and nothing was deployed. What is new
 * of an application is told by `Standing`: success by its words, which have the Helm revision in them, and failure by its
 * words and the intent (or change of spec) that met it.
 */
export function channelNewsOf(event: AgentEvent, eventSeq: number): ChannelNews[] {
  if (event.kind === 'ClusterHeartbeat') return [];
  return event.conditions.flatMap((condition): ChannelNews[] => {
    const { reason = '', message = '' } = condition;
    const known = CHANNEL_REASONS.get(reason);
    if (known === undefined) return [];
    const standing = standingOf(event, condition);
    return [
      {
        identity: identityOf(event, condition, standing),
        category: known.category,
        reason,
        resourceRef: event.resourceRef,
        message,
        toldBy: `${event.kind}/${condition.type}`,
        toldAt: event.timestamp,
        intentId: event.source?.intentId,
        eventSeq,
        ...(standing === undefined ? {} : { standing }),
      },
    ];
  });
}

function identityOf({ resourceRef, source }: AgentEvent, condition: Condition, standing: Standing | undefined): string {
  const { type, reason = '', message = '', lastTransitionTime } = condition;
  const when = lastTransitionTime ?? resourceRef.generation ?? null;
  // A condition that stays False keeps its time, whichever intent fails next.
  const metBy = standing?.isGood === false && source?.intentId !== undefined ? [source.intentId] : [];
  return JSON.stringify([resourceKey(resourceRef), type, reason, message, when, ...metBy]);
}

function standingOf({ resourceRef, source }: AgentEvent, condition: Condition): Standing | undefined {
  if (resourceRef.kind !== 'ApplicationInstance') return undefined;
  const { type, status, reason = '', message = '' } = condition;
  const isGood = type === 'Ready' && status === 'True';
  const metBy = isGood ? [] : [source?.intentId ?? resourceRef.generation ?? null];
  // Who finds an object gone words it otherwise than who saw it go.
  const words = reason === Reason.Uninstalled ? [reason] : [reason, message];
  return { object: resourceKey(resourceRef), isGood, outcome: JSON.stringify([...words, ...metBy]) };
}
