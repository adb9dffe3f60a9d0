import type { Condition } from '../../../protocol/condition.ts';
import { infoOf, probeOf, reachOf, type PushReach } from '../../push/push-credential-info.ts';
import type { ClusterRow, PushCredentialRow } from '../../store/schema.ts';
import type { PushView } from './cluster-answer.ts';

/** The last delivery or look was taken: the API server is this cluster's and takes the credential. */
export const PUSH_READY = 'PushReady';
/** Nobody has looked yet. */
export const PUSH_NOT_TRIED = 'PushNotTried';
/** The API server cannot be reached, refuses, or is not this cluster's. */
export const PUSH_FAILING = 'PushFailing';
/** The API server does not take the credential (401), or it has expired. */
export const PUSH_CREDENTIAL_REFUSED = 'PushCredentialRefused';
/** The cluster is in push mode, and nobody has given it a credential. */
export const PUSH_CREDENTIAL_MISSING = 'PushCredentialMissing';
/** It ends within seven days, and is not renewed by itself. */
export const PUSH_CREDENTIAL_ENDS = 'PushCredentialEnds';

/** Before the end of a credential. */
const WARN_MS = 7 * 24 * 60 * 60_000;

/** Of a cluster in push mode. */
export function viewPush(row: PushCredentialRow | undefined, now: Date): PushView {
  if (row === undefined) return { state: 'missing' };
  const { user, proof, proxy, renewable } = infoOf(row);
  const reach = reachOf(row);
  const probe = probeOf(row);
  const { expires_at: expiresAt, renew_at: renewAt, renewed_at: renewedAt, renewal_fault: renewalFault } = row;
  return {
    state: stateOf(row, reach, now),
    server: row.server,
    user,
    proof,
    ...(proxy === undefined ? {} : { proxy }),
    setAt: row.created_at,
    setBy: row.created_by,
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(renewable === undefined ? {} : { renewable }),
    ...(renewAt === null || renewable !== true ? {} : { renewAt }),
    ...(renewedAt === null ? {} : { renewedAt }),
    ...(renewalFault === null ? {} : { renewalFault }),
    ...(reach === undefined ? {} : { reach }),
    ...(probe === undefined ? {} : { probe }),
  };
}

/** `PushReachable`, which the control plane alone writes, and `PushCredentialExpires` where somebody has to act. */
export function pushConditions({ slug }: Pick<ClusterRow, 'slug'>, view: PushView | undefined, now: Date): Condition[] {
  if (view === undefined) return [];
  return [reachable(slug, view), ...expires(slug, view, now)];
}

function reachable(slug: string, { state, reach, expiresAt = '' }: PushView): Condition {
  const type = 'PushReachable';
  const replace = `servicectl clusters push-credential ${slug} --kubeconfig FILE`;
  const since = reach === undefined ? {} : { lastTransitionTime: reach.at };
  switch (state) {
    case 'missing': {
      const message = `push mode has no credential for this cluster, and nothing is delivered; make one (servicectl clusters push-access ${slug}) and give it: ${replace}`;
      return { type, status: 'False', reason: PUSH_CREDENTIAL_MISSING, message };
    }
    case 'untried':
      return { type, status: 'Unknown', reason: PUSH_NOT_TRIED, message: 'nobody has asked the API server yet' };
    case 'expired': {
      const message = `the push credential expired at ${expiresAt}, and nothing is delivered; give another: ${replace}`;
      return { type, status: 'False', reason: PUSH_CREDENTIAL_REFUSED, message, lastTransitionTime: expiresAt };
    }
    case 'refused': {
      const message = `${reach?.message ?? 'the API server does not take the credential'}; give another: ${replace}`;
      return { type, status: 'False', reason: PUSH_CREDENTIAL_REFUSED, message, ...since };
    }
    case 'failing':
      return { type, status: 'False', reason: PUSH_FAILING, message: reach?.message ?? 'it is not reached', ...since };
    case 'ready':
      return { type, status: 'True', reason: PUSH_READY, message: reach?.message ?? 'it is reached', ...since };
  }
}

function expires(slug: string, view: PushView, now: Date): Condition[] {
  const { expiresAt, renewable, renewalFault, state } = view;
  if (expiresAt === undefined || state === 'expired') return [];
  const isNear = Date.parse(expiresAt) - now.getTime() <= WARN_MS;
  // One that is renewed by itself may live for an hour: only its faults are news.
  if (!isNear || (renewable === true && renewalFault === undefined)) return [];
  const why = renewalFault === undefined ? 'it is not renewed by itself' : `it could not be renewed: ${renewalFault}`;
  const message = `the push credential ends at ${expiresAt}, and ${why}; give another before: servicectl clusters push-credential ${slug} --kubeconfig FILE`;
  return [{ type: 'PushCredentialExpires', status: 'True', reason: PUSH_CREDENTIAL_ENDS, message }];
}

function stateOf(row: PushCredentialRow, reach: PushReach | undefined, now: Date): PushView['state'] {
  if (row.expires_at !== null && row.expires_at <= now.toISOString()) return 'expired';
  return reach?.state ?? 'untried';
}
