import type { Condition } from '../../../protocol/condition.ts';
import type { ClusterRow } from '../../store/schema.ts';
import { intervalsOf } from '../../cluster-settings.ts';

/** The cluster called within three heartbeats. */
export const WITHIN_HEARTBEAT = 'WithinHeartbeat';
/** It did not; the message has its last contact. Its applications go on running. */
export const NO_CONTACT = 'NoContact';
/** No operator has registered yet. */
export const NOT_REGISTERED = 'NotRegistered';

const HEARTBEATS_MISSED = 3;

/**
 * `Connected` and `Disconnected` as the control plane sees them. Here it is the one writer of both: the operator's own
 * report of its connection arrives only while there is one.
 */
export function connectionConditions(
  cluster: Pick<ClusterRow, 'intervals' | 'registered_at' | 'last_contact_at'>,
  now: Date,
): Condition[] {
  const { last_contact_at: lastContactAt } = cluster;
  if (lastContactAt === null) {
    return both(false, NOT_REGISTERED, 'no operator has registered with this record yet', undefined);
  }
  const limitMs = intervalsOf(cluster).heartbeat_seconds * HEARTBEATS_MISSED * 1000;
  const lostAt = new Date(Date.parse(lastContactAt) + limitMs);
  return lostAt < now
    ? both(false, NO_CONTACT, `last contact at ${lastContactAt}`, lostAt.toISOString())
    : both(true, WITHIN_HEARTBEAT, `last contact at ${lastContactAt}`, undefined);
}

function both(connected: boolean, reason: string, message: string, at: string | undefined): Condition[] {
  const details = { reason, message, ...(at === undefined ? {} : { lastTransitionTime: at }) };
  return [
    { type: 'Connected', status: connected ? 'True' : 'False', ...details },
    { type: 'Disconnected', status: connected ? 'False' : 'True', ...details },
  ];
}
