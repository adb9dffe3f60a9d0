import type { Kysely } from 'kysely';
import type { PushCredentialRow } from './mode-rows.ts';
import type { Database } from './schema.ts';

/** What binds a sealed credential to its row: copied to another it does not open. */
export function pushCredentialContext(id: string): string {
  return `push-credential/${id}`;
}

/** A credential that was sealed and has no state yet (`newPushCredential`). */
export type NewPushCredential = Omit<
  PushCredentialRow,
  'state' | 'renewed_at' | 'renewal_fault' | 'probe' | 'reach' | 'revoked_at' | 'revoked_reason'
>;

/**
 * Stores a credential of a cluster, which has at most one of each state: one that stood in that state is revoked. To be
 * called in a transaction that holds the cluster's row (`lockCluster`).
 */
export async function insertPushCredential(
  trx: Kysely<Database>,
  credential: NewPushCredential,
  state: 'candidate' | 'current',
): Promise<void> {
  const { cluster_id: clusterId, created_at: at } = credential;
  await revokePushCredentials(trx, clusterId, `replaced by ${credential.id}`, at, [state]);
  await trx
    .insertInto('push_credentials')
    .values({
      ...credential,
      state,
      renewed_at: null,
      renewal_fault: null,
      probe: null,
      reach: null,
      revoked_at: null,
      revoked_reason: null,
    })
    .execute();
}

/**
 * The candidate is the credential that is used from now on; the one before it is revoked. One that is current already stays.
 * In a transaction that holds the cluster's row.
 *
 * @throws Error when it is neither: it was revoked meanwhile
 */
export async function promoteCandidate(trx: Kysely<Database>, id: string, at: string): Promise<PushCredentialRow> {
  const row = await findPushCredentialById(trx, id);
  if (row === undefined || row.state === 'revoked') {
    throw new Error(`the push credential ${id} was revoked: ${row?.revoked_reason ?? 'it is not on record'}`);
  }
  if (row.state === 'current') return row;
  await revokePushCredentials(trx, row.cluster_id, `replaced by ${id}`, at, ['current']);
  await trx.updateTable('push_credentials').set({ state: 'current' }).where('id', '=', id).execute();
  return { ...row, state: 'current' };
}

/**
 * Revokes a cluster's credentials: what was sealed is gone from the database; the account in the cluster is its owner's to
 * remove. In a transaction that holds the cluster's row.
 *
 * @param states which of them; all without it
 * @returns the ids of those that this call revoked
 */
export async function revokePushCredentials(
  trx: Kysely<Database>,
  clusterId: string,
  reason: string,
  at: string,
  states: readonly ('candidate' | 'current')[] = ['candidate', 'current'],
): Promise<string[]> {
  const revoked = await trx
    .updateTable('push_credentials')
    .set({ state: 'revoked', credential_sealed: null, renew_at: null, revoked_at: at, revoked_reason: reason })
    .where('cluster_id', '=', clusterId)
    .where('state', 'in', states)
    .returning('id')
    .execute();
  return revoked.map(({ id }) => id);
}

export async function findPushCredential(
  db: Kysely<Database>,
  clusterId: string,
  state: 'candidate' | 'current' = 'current',
): Promise<PushCredentialRow | undefined> {
  return await db
    .selectFrom('push_credentials')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('state', '=', state)
    .executeTakeFirst();
}

export async function findPushCredentialById(db: Kysely<Database>, id: string): Promise<PushCredentialRow | undefined> {
  return await db.selectFrom('push_credentials').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Those whose renewal, or the look at whether it can be, is due, the one that waits longest first. */
export async function pushCredentialsToRenew(
  db: Kysely<Database>,
  now: string,
  limit: number,
): Promise<PushCredentialRow[]> {
  return await db
    .selectFrom('push_credentials')
    .innerJoin('clusters', 'clusters.id', 'push_credentials.cluster_id')
    .selectAll('push_credentials')
    .where('push_credentials.state', '=', 'current')
    .where('push_credentials.renew_at', '<=', now)
    .where('clusters.disabled_at', 'is', null)
    .orderBy('push_credentials.renew_at')
    .orderBy('push_credentials.id')
    .limit(limit)
    .execute();
}

/** What may change of a credential that stays the same one. */
export type PushCredentialChange = Partial<
  Pick<PushCredentialRow, 'credential_sealed' | 'info' | 'expires_at' | 'renew_at' | 'renewed_at' | 'renewal_fault'>
>;

/**
 * @param from what was sealed when the change was thought of: another write since then, or a revocation, wins
 * @returns whether it was written
 */
export async function changePushCredential(
  trx: Kysely<Database>,
  id: string,
  from: string | null,
  change: PushCredentialChange,
): Promise<boolean> {
  const result = await trx
    .updateTable('push_credentials')
    .set(change)
    .where('id', '=', id)
    .where('state', '!=', 'revoked')
    .where('credential_sealed', 'is not distinct from', from)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** What was found by looking, writing or renewing. A credential that was revoked meanwhile keeps what it had. */
export async function storePushFindings(
  trx: Kysely<Database>,
  id: string,
  findings: Partial<Pick<PushCredentialRow, 'probe' | 'reach' | 'renewal_fault' | 'renew_at'>>,
): Promise<void> {
  await trx
    .updateTable('push_credentials')
    .set(findings)
    .where('id', '=', id)
    .where('state', '!=', 'revoked')
    .execute();
}

/** Those that are used now, in clusters that are not disabled. */
export async function pushCredentialsInUse(db: Kysely<Database>): Promise<Pick<PushCredentialRow, 'id' | 'reach'>[]> {
  return await db
    .selectFrom('push_credentials')
    .innerJoin('clusters', 'clusters.id', 'push_credentials.cluster_id')
    .select(['push_credentials.id', 'push_credentials.reach'])
    .where('push_credentials.state', '=', 'current')
    .where('clusters.connectivity_mode', '=', 'push')
    .where('clusters.disabled_at', 'is', null)
    .orderBy('push_credentials.id')
    .execute();
}
