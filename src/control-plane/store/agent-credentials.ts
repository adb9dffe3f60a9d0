import type { Insertable, Kysely } from 'kysely';
import type { AgentCredentialRow, Database } from './schema.ts';

/** 30 days (decisions, "Register, rotate, config"). */
export const AGENT_CREDENTIAL_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** How long it can still be said of a credential why it is refused. */
export const ENDED_CREDENTIALS_KEPT_MS = 90 * 24 * 60 * 60 * 1000;

export type NewAgentCredential = Omit<
  Insertable<AgentCredentialRow>,
  'first_used_at' | 'certified_at' | 'revoked_at' | 'rotated_at'
>;

export async function insertAgentCredential(trx: Kysely<Database>, credential: NewAgentCredential): Promise<void> {
  await trx
    .insertInto('agent_credentials')
    .values({ ...credential, first_used_at: null, certified_at: null, revoked_at: null, rotated_at: null })
    .execute();
}

export async function findAgentCredential(
  db: Kysely<Database>,
  tokenHash: string,
): Promise<AgentCredentialRow | undefined> {
  return await db.selectFrom('agent_credentials').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst();
}

export async function findAgentCredentialById(
  db: Kysely<Database>,
  id: string,
): Promise<AgentCredentialRow | undefined> {
  return await db.selectFrom('agent_credentials').selectAll().where('id', '=', id).executeTakeFirst();
}

/**
 * What the cluster calls with, as far as is known: the newest credential that was used and is not revoked, else the newest.
 * One that was issued and never used says nothing of the cluster, as its answer may have been lost.
 */
export async function currentAgentCredential(
  db: Kysely<Database>,
  clusterId: string,
): Promise<AgentCredentialRow | undefined> {
  return await db
    .selectFrom('agent_credentials')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('revoked_at', 'is', null)
    .orderBy((eb) => eb.case().when('first_used_at', 'is', null).then(1).else(0).end())
    .orderBy('issued_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Whether the credential that came of this one by rotation has been used: then its owner has saved it. */
export async function hasUsedReplacement(trx: Kysely<Database>, id: string): Promise<boolean> {
  const row = await trx
    .selectFrom('agent_credentials')
    .select('id')
    .where('replaces', '=', id)
    .where('first_used_at', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** What came of a rotation and was never used goes for good: nobody has it, or nobody must have it. */
export async function deleteUnusedReplacements(trx: Kysely<Database>, id: string): Promise<void> {
  await trx.deleteFrom('agent_credentials').where('replaces', '=', id).where('first_used_at', 'is', null).execute();
}

/** When each of the cluster's recovered credentials since then was issued, the oldest first. */
export async function recoveriesSince(trx: Kysely<Database>, clusterId: string, since: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('agent_credentials')
    .select('issued_at')
    .where('cluster_id', '=', clusterId)
    .where('origin', '=', 'recovery')
    .where('issued_at', '>', since)
    .orderBy('issued_at')
    .execute();
  return rows.map(({ issued_at: issuedAt }) => issuedAt);
}

/** Ends recovered credentials that were issued before then and never used. They count as issued all the same. */
export async function endUnusedRecoveries(
  trx: Kysely<Database>,
  clusterId: string,
  before: string,
  at: string,
): Promise<void> {
  await trx
    .updateTable('agent_credentials')
    .set({ revoked_at: at })
    .where('cluster_id', '=', clusterId)
    .where('origin', '=', 'recovery')
    .where('first_used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('issued_at', '<', before)
    .execute();
}

/** The first rotation, from which the grace period counts: the credential ends with it, and is never due after its end. */
export async function startGrace(
  trx: Kysely<Database>,
  credential: Pick<AgentCredentialRow, 'id' | 'rotate_after' | 'expires_at'>,
  grace: { readonly at: string; readonly endsAt: string },
): Promise<void> {
  const expiresAt = grace.endsAt < credential.expires_at ? grace.endsAt : credential.expires_at;
  const rotateAfter = credential.rotate_after < expiresAt ? credential.rotate_after : expiresAt;
  await trx
    .updateTable('agent_credentials')
    .set({ rotated_at: grace.at, expires_at: expiresAt, rotate_after: rotateAfter })
    .where('id', '=', credential.id)
    .execute();
}

/** Ends every credential of the cluster; answers how many were still valid. */
export async function revokeAgentCredentials(trx: Kysely<Database>, clusterId: string, at: string): Promise<number> {
  const result = await trx
    .updateTable('agent_credentials')
    .set({ revoked_at: at })
    .where('cluster_id', '=', clusterId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * The first use is kept: until then the operator may not have saved the credential (rotation).
 *
 * @returns whether the credential is still there and not revoked: a rotation may have deleted it since it was looked at
 */
export async function markAgentCredentialUsed(trx: Kysely<Database>, id: string, at: string): Promise<boolean> {
  const result = await trx
    .updateTable('agent_credentials')
    .set((eb) => ({ first_used_at: eb.fn.coalesce('first_used_at', eb.val(at)) }))
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** A request came with the client certificate of the credential's cluster. The first one is kept. */
export async function markAgentCredentialCertified(trx: Kysely<Database>, id: string, at: string): Promise<void> {
  await trx
    .updateTable('agent_credentials')
    .set({ certified_at: at })
    .where('id', '=', id)
    .where('certified_at', 'is', null)
    .execute();
}

/** Asks for a rotation: it is due now for what the cluster calls with. Answers how many credentials that concerns. */
export async function askForRotation(trx: Kysely<Database>, clusterId: string, at: string): Promise<number> {
  const result = await trx
    .updateTable('agent_credentials')
    .set({ rotate_after: at })
    .where('cluster_id', '=', clusterId)
    .where('revoked_at', 'is', null)
    .where('rotated_at', 'is', null)
    .where('expires_at', '>', at)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Credentials that ended before then, but for each cluster's newest: that one says when the cluster was last let in. */
export async function deleteEndedAgentCredentials(trx: Kysely<Database>, before: string): Promise<void> {
  await trx
    .deleteFrom('agent_credentials')
    .where((eb) => eb.or([eb('expires_at', '<', before), eb('revoked_at', '<', before)]))
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('agent_credentials as newer')
          .select('newer.id')
          .whereRef('newer.cluster_id', '=', 'agent_credentials.cluster_id')
          .whereRef('newer.issued_at', '>', 'agent_credentials.issued_at'),
      ),
    )
    .execute();
}
