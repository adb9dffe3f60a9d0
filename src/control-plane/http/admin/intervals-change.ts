import { Type, type Static, type TInteger } from 'typebox';
import { Intervals } from '../../../protocol/agent-config.ts';
import { MAX_HEARTBEAT_SECONDS, MAX_ROTATE_SECONDS } from '../../cluster-settings.ts';
import { answerOf } from '../openapi/answers.ts';

const orNull = (schema: TInteger) => Type.Union([schema, Type.Null()]);
const { event_batch_ms, event_batch_size } = Intervals.properties;
// The protocol's own have no upper bounds: another control plane may have its reasons.
const rotate_seconds = Type.Integer({ minimum: 60, maximum: MAX_ROTATE_SECONDS });
const heartbeat_seconds = Type.Integer({ minimum: 1, maximum: MAX_HEARTBEAT_SECONDS });

/** Those that are left out keep what they are; null is no longer set here, so that what is behind it holds. */
export const IntervalsChange = Type.Partial(
  Type.Object({
    rotateSeconds: orNull(rotate_seconds),
    heartbeatSeconds: orNull(heartbeat_seconds),
    eventBatchMs: orNull(event_batch_ms),
    eventBatchSize: orNull(event_batch_size),
  }),
  { additionalProperties: false },
);
export type IntervalsChange = Static<typeof IntervalsChange>;

/** Intervals as the admin API shows them. */
export const IntervalsAnswer = answerOf('IntervalsAnswer', {
  rotateSeconds: Type.Integer(),
  heartbeatSeconds: Type.Integer(),
  eventBatchMs: Type.Integer(),
  eventBatchSize: Type.Integer(),
});
export type IntervalsView = Static<typeof IntervalsAnswer>;

export const INTERVAL_NAMES = ['rotateSeconds', 'heartbeatSeconds', 'eventBatchMs', 'eventBatchSize'] as const;

const COLUMNS = {
  rotateSeconds: 'rotate_seconds',
  heartbeatSeconds: 'heartbeat_seconds',
  eventBatchMs: 'event_batch_ms',
  eventBatchSize: 'event_batch_size',
} as const satisfies Record<keyof IntervalsChange, keyof Intervals>;

/** What is set after a change, in one order, so that equal settings are equal text. */
export function changeIntervals(before: Partial<Intervals>, change: IntervalsChange | undefined): Partial<Intervals> {
  const after: Partial<Intervals> = {};
  for (const name of Object.keys(COLUMNS) as (keyof IntervalsChange)[]) {
    const column = COLUMNS[name];
    const asked = change?.[name];
    const value = asked === undefined ? before[column] : asked;
    if (value !== undefined && value !== null) after[column] = value;
  }
  return after;
}

export function viewIntervals(intervals: Intervals): IntervalsView {
  return {
    rotateSeconds: intervals.rotate_seconds,
    heartbeatSeconds: intervals.heartbeat_seconds,
    eventBatchMs: intervals.event_batch_ms,
    eventBatchSize: intervals.event_batch_size,
  };
}

/** The names of those that are set. */
export function namesOfIntervals(own: Partial<Intervals>): (keyof IntervalsChange)[] {
  return (Object.keys(COLUMNS) as (keyof IntervalsChange)[]).filter((name) => own[COLUMNS[name]] !== undefined);
}
