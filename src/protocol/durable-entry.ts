import type { Condition } from './condition.ts';
import { EVENT_KINDS, type AgentEvent } from './event.ts';

/** What an audit entry says of an event. */
export interface DurableEntry {
  readonly summary: string;
  readonly reason?: string;
}

/** `(type, status)` pairs that make a ConditionTransition durable (specification, "Durable-entry rule"). */
const HIGH_SIGNAL = new Set(['Succeeded', 'Failed', 'Running', 'Cancelled', 'Blocked', 'Connected', 'Disconnected']);

/** Longest summary, in UTF-16 units; a condition's message may be 32 KiB. */
const MAX_SUMMARY = 2000;

/** The audit entry that an event of the operator becomes, or undefined when it is status only. */
export function auditEntryFor(
  event: Pick<AgentEvent, 'kind' | 'resourceRef' | 'conditions'>,
): DurableEntry | undefined {
  const { about, audit } = EVENT_KINDS[event.kind];
  if (!(about as readonly string[]).includes(event.resourceRef.kind)) return undefined;
  switch (audit) {
    case 'never':
      return undefined;
    case 'always':
      return describeAll(`${event.kind}: `, event.conditions);
    case 'high-signal': {
      const matching = event.conditions.filter(({ type, status }) => status === 'True' && HIGH_SIGNAL.has(type));
      return matching.length === 0 ? undefined : describeAll('', matching);
    }
  }
}

/** Conditions in words, as an entry of the audit log has them. */
export function describeAll(prefix: string, conditions: readonly Condition[]): DurableEntry {
  const text = prefix + conditions.map(describe).join('; ');
  const summary = text.length <= MAX_SUMMARY ? text : `${text.slice(0, MAX_SUMMARY - 1).toWellFormed()}…`;
  const reason = conditions.find((condition) => (condition.reason ?? '') !== '')?.reason;
  return reason === undefined ? { summary } : { summary, reason };
}

function describe({ type, reason = '', message = '' }: Condition): string {
  return `${type}${reason === '' ? '' : ` (${reason})`}${message === '' ? '' : `: ${message}`}`;
}
