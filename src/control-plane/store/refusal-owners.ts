import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** Whose audit a refusal belongs into: an organization's, and where it is about a cluster, that one's. */
export interface RefusalOwner {
  readonly id?: string;
  readonly organization_id: string;
}

/** Who was given the token of this hash. */
export async function ownerOfCredential(
  db: Kysely<Database>,
  kind: 'svcreg' | 'svcagt' | 'svcadm',
  tokenHash: string,
): Promise<RefusalOwner | undefined> {
  if (kind === 'svcadm') {
    return await db
      .selectFrom('admin_tokens')
      .select('organization_id')
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst();
  }
  const table = kind === 'svcreg' ? 'registration_tokens' : 'agent_credentials';
  const row = await db.selectFrom(table).select('cluster_id').where('token_hash', '=', tokenHash).executeTakeFirst();
  return row === undefined ? undefined : await ownerOfId(db, 'clusters', row.cluster_id);
}

/** The cluster that has an id, or whose intent, job, approval or proposal has it. */
export async function ownerOfId(
  db: Kysely<Database>,
  table: 'clusters' | 'intents' | 'jobs' | 'approvals' | 'proposals',
  id: string,
): Promise<RefusalOwner | undefined> {
  if (table === 'clusters') {
    return await db.selectFrom('clusters').select(['id', 'organization_id']).where('id', '=', id).executeTakeFirst();
  }
  const row = await db.selectFrom(table).select('cluster_id').where('id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : await ownerOfId(db, 'clusters', row.cluster_id);
}
