/** What a post of events is answered beside 204: where the control plane's record of the cluster's events stands. */
export const EVENT_LOG_HEADER = 'service-event-log';

/**
 * Numbers of the last event that the control plane has of the cluster, before a post and after it; 0 where it has none.
 * They only grow, but for a control plane that was restored from a backup: what it has before a post is then less than
 * what it had after the one before.
 */
export interface EventLogMark {
  readonly before: number;
  readonly after: number;
}

const MARK = /^before=(\d{1,15}), after=(\d{1,15})$/;

export function formatEventLogMark({ before, after }: EventLogMark): string {
  return `before=${before}, after=${after}`;
}

/** Undefined where there is none, or another than ours. */
export function parseEventLogMark(text: string | undefined): EventLogMark | undefined {
  const [, before, after] = MARK.exec(text ?? '') ?? [];
  return before === undefined ? undefined : { before: Number(before), after: Number(after) };
}
