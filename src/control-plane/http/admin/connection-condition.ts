import type { Condition } from '../../../protocol/condition.ts';
import type { ClusterRow } from '../../store/schema.ts';
import { Reason } from '../../../resources/reasons.ts';
import { silenceLimitMs } from '../../contact-watch.ts';
import { CREDENTIAL_REVOKED } from './credential-condition.ts';

/** Connected=False: the record is disabled, so whatever its operator asks is answered 403. */
export const CLUSTER_DISABLED = 'ClusterDisabled';

/**
 * `Connected` and `Disconnected` as the control plane sees them. Here it is the one writer of both: the operator's own
 * report of its connection arrives only while there is one. Whom it shuts out itself is not connected from that moment on.
 *
 * @param listeningSince from when on silence counts: a control plane that was away itself marks nobody for it
 */
export function connectionConditions(
  cluster: Pick<
    ClusterRow,
    'intervals' | 'registered_at' | 'last_contact_at' | 'disconnected_at' | 'disabled_at' | 'revoked_at'
  >,
  now: Date,
  listeningSince: Date,
): Condition[] {
  const { last_contact_at: lastContactAt, disconnected_at: disconnectedAt } = cluster;
  if (lastContactAt === null) {
    return both(false, Reason.NotRegistered, 'no operator has registered with this record yet', undefined);
  }
  const message = `last contact at ${lastContactAt}`;
  const { disabled_at: disabledAt, revoked_at: revokedAt } = cluster;
  if (disabledAt !== null) {
    return both(false, CLUSTER_DISABLED, `disabled: its operator is answered 403; ${message}`, disabledAt);
  }
  // Taken away again by a registration.
  if (revokedAt !== null) {
    return both(false, CREDENTIAL_REVOKED, `its credentials were revoked; ${message}`, revokedAt);
  }
  if (disconnectedAt !== null && lastContactAt <= disconnectedAt)
    return both(false, Reason.NoContact, message, disconnectedAt);
  const contact = Math.max(Date.parse(lastContactAt), listeningSince.getTime());
  const lostAt = new Date(contact + silenceLimitMs(cluster));
  return lostAt < now
    ? both(false, Reason.NoContact, message, lostAt.toISOString())
    : both(true, Reason.WithinHeartbeat, message, undefined);
}

function both(connected: boolean, reason: string, message: string, at: string | undefined): Condition[] {
  const details = { reason, message, ...(at === undefined ? {} : { lastTransitionTime: at }) };
  return [
    { type: 'Connected', status: connected ? 'True' : 'False', ...details },
    { type: 'Disconnected', status: connected ? 'False' : 'True', ...details },
  ];
}
