import type { Insertable, Kysely } from 'kysely';
import type { AgentCredentialRow, Database } from './schema.ts';

/** 30 days (decisions, "Register, rotate, config"). */
export const AGENT_CREDENTIAL_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

export type NewAgentCredential = Omit<Insertable<AgentCredentialRow>, 'first_used_at' | 'revoked_at' | 'rotated_at'>;

export async function insertAgentCredential(trx: Kysely<Database>, credential: NewAgentCredential): Promise<void> {
  await trx
    .insertInto('agent_credentials')
    .values({ ...credential, first_used_at: null, revoked_at: null, rotated_at: null })
    .execute();
}

export async function findAgentCredential(
  db: Kysely<Database>,
  tokenHash: string,
): Promise<AgentCredentialRow | undefined> {
  return await db.selectFrom('agent_credentials').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst();
}

/** The newest credential that is not revoked: what the admin API shows of it. */
export async function currentAgentCredential(
  db: Kysely<Database>,
  clusterId: string,
): Promise<AgentCredentialRow | undefined> {
  return await db
    .selectFrom('agent_credentials')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('revoked_at', 'is', null)
    .orderBy('issued_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
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

/** The first use is kept: until then the operator may not have saved the credential (rotation). */
export async function markAgentCredentialUsed(trx: Kysely<Database>, id: string, at: string): Promise<void> {
  await trx
    .updateTable('agent_credentials')
    .set({ first_used_at: at })
    .where('id', '=', id)
    .where('first_used_at', 'is', null)
    .execute();
}
