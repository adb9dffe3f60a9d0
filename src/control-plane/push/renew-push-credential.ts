import { KubeError } from '../../kube/cluster-api.ts';
import type { ClusterConnection } from '../../kube/connect-cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { MasterKey } from '../master-key.ts';
import { appendAudit } from '../store/audit.ts';
import { findCluster } from '../store/clusters.ts';
import type { PushCredentialRow } from '../store/mode-rows.ts';
import type { Store } from '../store/open-store.ts';
import { changePushCredential, storePushFindings, type PushCredentialChange } from '../store/push-credentials.ts';
import { describeAccess, openAccess, sealAccess, type PushAccess } from './push-access.ts';
import type { PushConnections } from './push-connections.ts';
import { infoOf, type PushCredentialInfo } from './push-credential-info.ts';
import { readTokenClaims } from './token-claims.ts';

/** Of a token's lifetime, before it is renewed; the spread keeps a fleet that was set up in one hour apart. */
const RENEW_AFTER = 2 / 3;
const SPREAD = 0.1;
/** Of a token that does not say when it was issued. */
const DEFAULT_LIFETIME_MS = 24 * 60 * 60_000;
/** The least that the API takes. */
const LEAST_MS = 10 * 60_000;
/** Somebody may grant the right later. */
const LOOK_AGAIN_MS = 24 * 60 * 60_000;
const RETRY_MS = 2 * 60_000;
const MAX_FAULT = 500;

/** Written by the control plane of its own accord. */
export const PUSH_CREDENTIAL_RENEWED = 'PushCredentialRenewed';

export interface RenewDeps {
  readonly store: Pick<Store, 'db' | 'write'>;
  readonly masterKey: Pick<MasterKey, 'seal' | 'open'>;
  readonly pushConnections: Pick<PushConnections, 'connect'>;
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * Renews a credential whose `renew_at` has come, by the TokenRequest API, where its account may ask for tokens of its own:
 *
 * ```
 * token ──► may it? ──no──► looked at again in a day
 *             │ yes, and two thirds of its life are over
 *             ▼
 *      token + next, sealed and stored ──► next is tried ──► next takes the token's place
 *             ▲       │                          │ 401: next is dropped, the fault is kept
 *             └ crash ┘                          └ no answer: next stays and is tried again
 * ```
 *
 * What is used changes only when the new token has worked once. Each step is one write that loses against another credential
 * that was given meanwhile. Faults are stored in `renewal_fault` and never thrown; rejects only when aborted.
 */
export async function renewPushCredential(deps: RenewDeps, row: PushCredentialRow, signal: AbortSignal): Promise<void> {
  const info = infoOf(row);
  try {
    await renew(deps, row, info, signal);
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : 'the token could not be renewed';
    const fault = { renewal_fault: message.slice(0, MAX_FAULT), renew_at: soon(deps, RETRY_MS) };
    // Whatever is sealed by now: a token may have been stored before it failed.
    await deps.store.write(async (trx) => await storePushFindings(trx, row.id, fault));
  }
}

async function renew(
  deps: RenewDeps,
  row: PushCredentialRow,
  info: PushCredentialInfo,
  signal: AbortSignal,
): Promise<void> {
  const { access, next } = await openAccess(deps.masterKey, row);
  const { account } = info;
  if (access.token === undefined || account === undefined) {
    await change(deps, row, { renew_at: null });
    return;
  }
  if (next !== undefined) {
    await prove(deps, row, { access, next, account }, signal);
    return;
  }
  await using connection = deps.pushConnections.connect(access);
  if (!(await mayRenew(connection, account, signal))) {
    const known = JSON.stringify({ ...info, renewable: false });
    await change(deps, row, { info: known, renewal_fault: null, renew_at: soon(deps, LOOK_AGAIN_MS) });
    return;
  }
  const due = renewalTime(info.issuedAt, row.expires_at, deps.random);
  if (due !== null && due > deps.clock.now().toISOString()) {
    const known = JSON.stringify({ ...info, renewable: true });
    await change(deps, row, { info: known, renewal_fault: null, renew_at: due });
    return;
  }
  const { audiences } = readTokenClaims(access.token);
  const wanted = {
    expirationSeconds: Math.ceil(lifetimeOf(info, row.expires_at) / 1000),
    ...(audiences === undefined ? {} : { audiences }),
  };
  const { token } = await connection.account.requestToken(account, wanted, signal);
  const sealed = await sealAccess(deps.masterKey, row.id, { access, next: token });
  // Stored before it is used: a crash after this finds it.
  if (!(await change(deps, row, { credential_sealed: sealed }))) return;
  await prove(deps, { ...row, credential_sealed: sealed }, { access, next: token, account }, signal);
}

/** Tries the new token, and puts it in the place of the old one once it has worked. */
async function prove(
  deps: RenewDeps,
  row: PushCredentialRow,
  { access, next, account }: { readonly access: PushAccess; readonly next: Secret; readonly account: Account },
  signal: AbortSignal,
): Promise<void> {
  const renewed: PushAccess = { ...access, token: next };
  const { info, expiresAt } = describeAccess(renewed);
  await using connection = deps.pushConnections.connect(renewed);
  let renewable: boolean;
  try {
    renewable = await mayRenew(connection, account, signal);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 401) throw error;
    const sealed = await sealAccess(deps.masterKey, row.id, { access });
    await change(deps, row, {
      credential_sealed: sealed,
      renewal_fault: 'the API server issued a new token and does not take it (401); the one before is used on',
      renew_at: soon(deps, RETRY_MS),
    });
    return;
  }
  const now = deps.clock.now().toISOString();
  const sealed = await sealAccess(deps.masterKey, row.id, { access: renewed });
  const cluster = await findCluster(deps.store.db, row.cluster_id);
  await deps.store.write(async (trx) => {
    const written = await changePushCredential(trx, row.id, row.credential_sealed, {
      credential_sealed: sealed,
      info: JSON.stringify({ ...info, renewable }),
      expires_at: expiresAt,
      renewed_at: now,
      renewal_fault: null,
      renew_at: renewalTime(info.issuedAt ?? now, expiresAt, deps.random),
    });
    if (!written || cluster === undefined) return;
    await appendAudit(trx, {
      organizationId: cluster.organization_id,
      at: now,
      source: 'agent',
      kind: PUSH_CREDENTIAL_RENEWED,
      clusterId: cluster.id,
      summary: `cluster ${cluster.slug}: the token of push mode was renewed; the new one is good until ${expiresAt ?? 'it is revoked'}`,
    });
  });
}

type Account = NonNullable<PushCredentialInfo['account']>;

async function mayRenew(
  { account }: Pick<ClusterConnection, 'account'>,
  { namespace, name }: Account,
  signal: AbortSignal,
): Promise<boolean> {
  const question = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token', namespace, name };
  return await account.may(question, signal);
}

async function change(deps: RenewDeps, row: PushCredentialRow, what: PushCredentialChange): Promise<boolean> {
  return await deps.store.write(async (trx) => await changePushCredential(trx, row.id, row.credential_sealed, what));
}

/** When two thirds of its life are over, spread a little earlier; null for one that does not end. */
function renewalTime(issuedAt: string | undefined, expiresAt: string | null, random: () => number): string | null {
  if (expiresAt === null) return null;
  const end = Date.parse(expiresAt);
  const begin = issuedAt === undefined ? end - DEFAULT_LIFETIME_MS : Date.parse(issuedAt);
  return new Date(begin + (end - begin) * (RENEW_AFTER - random() * SPREAD)).toISOString();
}

/** As long as the one before: whoever made that one chose it. The server may give less. */
function lifetimeOf({ issuedAt }: PushCredentialInfo, expiresAt: string | null): number {
  const lifetime =
    issuedAt === undefined || expiresAt === null ? DEFAULT_LIFETIME_MS : Date.parse(expiresAt) - Date.parse(issuedAt);
  return Math.max(lifetime, LEAST_MS);
}

function soon({ clock, random }: Pick<RenewDeps, 'clock' | 'random'>, ms: number): string {
  return new Date(clock.now().getTime() + ms * (1 - SPREAD + random() * 2 * SPREAD)).toISOString();
}
