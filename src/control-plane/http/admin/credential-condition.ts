import type { Condition } from '../../../protocol/condition.ts';
import type { AgentCredentialRow, ClusterRow } from '../../store/schema.ts';

/** The credential that the cluster calls with is good. */
export const CREDENTIAL_VALID = 'CredentialValid';
/** It has expired: the operator was away for longer than it lives. */
export const CREDENTIAL_EXPIRED = 'CredentialExpired';
/** An admin revoked it. */
export const CREDENTIAL_REVOKED = 'CredentialRevoked';

/** `Expired`, which the control plane alone writes: can the operator still come in with what it has? */
export function credentialCondition(
  cluster: Pick<ClusterRow, 'slug' | 'status' | 'revoked_at'>,
  credential: Pick<AgentCredentialRow, 'expires_at'> | undefined,
  now: Date,
): Condition[] {
  if (cluster.status === 'Pending') return [];
  const command = `servicectl clusters recovery-command ${cluster.slug}`;
  if (credential === undefined) {
    const message = `its credentials were revoked; to let its operator register again: ${command}`;
    const since = cluster.revoked_at === null ? {} : { lastTransitionTime: cluster.revoked_at };
    return [{ type: 'Expired', status: 'False', reason: CREDENTIAL_REVOKED, message, ...since }];
  }
  const { expires_at: expiresAt } = credential;
  if (expiresAt > now.toISOString()) {
    return [
      {
        type: 'Expired',
        status: 'False',
        reason: CREDENTIAL_VALID,
        message: `its credential is good until ${expiresAt}`,
      },
    ];
  }
  return [
    {
      type: 'Expired',
      status: 'True',
      reason: CREDENTIAL_EXPIRED,
      message: `its credential expired at ${expiresAt}. Its applications go on running; to let its operator in again: ${command}`,
      lastTransitionTime: expiresAt,
    },
  ];
}
