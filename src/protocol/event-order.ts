import type { Condition } from './condition.ts';
import type { AgentEvent } from './event.ts';

/**
 * The place of one condition of an event in the fold of current status: greater text wins, per resource uid and
 * condition type, whatever the order of arrival.
 *
 * - with `sequence`: `1|<lease transitions, 15 digits>.<counter, 15 digits>`
 * - without: `0|<generation, 16 digits>|<lastTransitionTime>|<timestamp>`, times in UTC with nine decimals
 *
 * The two forms do not measure the same thing, so an event with `sequence` is always later than one without: an operator
 * that numbers its events once does so for ever, and a delayed event of one that does not must not overwrite it.
 */
export function eventOrderKey(
  event: Pick<AgentEvent, 'sequence' | 'resourceRef' | 'timestamp'>,
  condition: Pick<Condition, 'lastTransitionTime'>,
): string {
  if (event.sequence !== undefined) {
    const [transitions = '', counter = ''] = event.sequence.split('.');
    return `1|${digits(transitions, 15)}.${digits(counter, 15)}`;
  }
  const generation = digits(String(event.resourceRef.generation ?? 0), 16);
  return `0|${generation}|${sortableTime(condition.lastTransitionTime)}|${sortableTime(event.timestamp)}`;
}

function digits(text: string, width: number): string {
  return text.replace(/^0+(?=\d)/, '').padStart(width, '0');
}

const UNKNOWN_TIME = '0000-00-00T00:00:00.000000000Z';
const LAST_TIME = '9999-12-31T23:59:59.999999999Z';
const FIRST_TIME_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** UTC with nine decimals: offsets are resolved, and finer fractions than a Date holds still count. */
function sortableTime(timestamp: string | undefined): string {
  const match = /^(.{17})(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})$/.exec(timestamp ?? '');
  if (match === null) return UNKNOWN_TIME;
  const [, upToMinute = '', seconds = '', fraction = '', offset = ''] = match;
  // RFC 3339 allows a leap second, Date does not.
  const at = new Date(`${upToMinute.toUpperCase()}${seconds === '60' ? '59' : seconds}${offset.toUpperCase()}`);
  if (Number.isNaN(at.getTime())) return UNKNOWN_TIME;
  // An offset can lead out of the years that have four digits, and other texts do not sort.
  if (at.getTime() > LAST_TIME_MS) return LAST_TIME;
  if (at.getTime() < FIRST_TIME_MS) return UNKNOWN_TIME;
  return `${at.toISOString().slice(0, -5)}.${fraction.slice(0, 9).padEnd(9, '0')}Z`;
}
