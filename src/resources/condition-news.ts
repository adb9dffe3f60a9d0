/** What a condition means to whoever looks after the thing: `warning` is to be seen to, while all goes on. */
export type ConditionNews = 'good' | 'neutral' | 'warning' | 'bad';

interface Told {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

/** Bad news when they are True, good when they are False. */
const BAD_IF_TRUE: ReadonlySet<string> = new Set([
  'Blocked',
  'BufferOverflow',
  'Cancelled',
  'Degraded',
  'Disconnected',
  'Drifted',
  'Expired',
  'Failed',
  'JobReportRefused',
  'RemovedWithoutTombstone',
  'Stalled',
  'TimedOut',
]);
const WARNING_IF_TRUE: ReadonlySet<string> = new Set(['PushCredentialExpires', 'SourceHistoryRewritten']);
/** Good news when they are True, and when they are False something is still under way or not as asked for. */
const WARNING_IF_FALSE: ReadonlySet<string> = new Set(['OperatorSupported', 'OperatorUpToDate', 'Ready', 'Succeeded']);
/** They say how far something is, or tell what one may do; neither status is bad. */
const NEUTRAL_IF_FALSE: ReadonlySet<string> = new Set([
  'ModeSwitched',
  'Reconciling',
  'RegistrationTokenSpent',
  'Running',
  'SourcePartial',
]);
const NEUTRAL_IF_TRUE: ReadonlySet<string> = new Set(['ModeSwitched', 'Reconciling', 'Running']);
/** Bad whatever the status, which is of a type that says something else. */
const BAD_REASONS: ReadonlySet<string> = new Set(['CredentialRevoked']);

/** The one place that says so: the views of the page and `servicectl doctor` ask here. A type unknown is good when True. */
export function conditionNews({ type, status, reason = '' }: Told): ConditionNews {
  if (BAD_REASONS.has(reason)) return 'bad';
  if (status === 'Unknown') return 'neutral';
  const holds = status === 'True';
  if (BAD_IF_TRUE.has(type)) return holds ? 'bad' : 'good';
  if (WARNING_IF_TRUE.has(type)) return holds ? 'warning' : 'good';
  if (holds) return NEUTRAL_IF_TRUE.has(type) ? 'neutral' : 'good';
  if (NEUTRAL_IF_FALSE.has(type)) return 'neutral';
  return WARNING_IF_FALSE.has(type) ? 'warning' : 'bad';
}
