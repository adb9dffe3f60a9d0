import type { Kysely } from 'kysely';
import type { CommitSigningKeyRow } from './review-rows.ts';
import type { Database } from './schema.ts';

/** Most keys of an organization that count: what `allowed_signers` of `/config` holds. */
export const MAX_COMMIT_SIGNERS = 200;

/** `private_key_sealed` of a key that signed once and signs no more. */
export const DESTROYED = '';

/** Every key of an organization, also those that no longer count, the newest first. */
export async function listCommitSigningKeys(
  db: Kysely<Database>,
  organizationId: string,
): Promise<CommitSigningKeyRow[]> {
  return await db
    .selectFrom('commit_signing_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** The key that the control plane signs this organization's commits with; undefined before the first one was made. */
export async function currentCommitSigningKey(
  db: Kysely<Database>,
  organizationId: string,
): Promise<CommitSigningKeyRow | undefined> {
  return (await listCommitSigningKeys(db, organizationId)).find(signsNow);
}

/** Whether it is the control plane's own, and neither retired nor revoked. */
export function signsNow(row: CommitSigningKeyRow): boolean {
  const isOwn = row.private_key_sealed !== null && row.private_key_sealed !== DESTROYED;
  return isOwn && row.retired_at === null && row.revoked_at === null;
}

export async function insertCommitSigningKey(trx: Kysely<Database>, row: CommitSigningKeyRow): Promise<void> {
  await trx.insertInto('commit_signing_keys').values(row).execute();
}

/** It signs no more: its private half goes. What it signed counts until it is revoked. */
export async function retireCommitSigningKey(trx: Kysely<Database>, id: string, at: string): Promise<void> {
  await trx
    .updateTable('commit_signing_keys')
    .set({ retired_at: at, private_key_sealed: DESTROYED })
    .where('id', '=', id)
    .execute();
}

export async function revokeCommitSigningKey(
  trx: Kysely<Database>,
  key: { readonly id: string; readonly at: string; readonly reason: string | null },
): Promise<void> {
  await trx
    .updateTable('commit_signing_keys')
    .set({ revoked_at: key.at, revoked_reason: key.reason })
    .where('id', '=', key.id)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Lets every cluster that is told of allowed signers ask anew. Answers their ids, whose topics to notify. */
export async function raiseRevisionsOfVerifiers(trx: Kysely<Database>, organizationId: string): Promise<string[]> {
  const rows = await trx
    .updateTable('clusters')
    .set((eb) => ({ config_revision: eb('config_revision', '+', 1) }))
    .where('organization_id', '=', organizationId)
    .where('connectivity_mode', '=', 'gitops')
    .where('git_settings', 'like', '%"requireSignedCommits":true%')
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Has the clusters that require signed commits read their directories as they are known to be. Answers how many. */
export async function trustPresentRevisions(trx: Kysely<Database>, organizationId: string): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('clusters')
    .set((eb) => ({ trusted_revision: eb.ref('desired_revision') }))
    .where('organization_id', '=', organizationId)
    .where('connectivity_mode', '=', 'gitops')
    .where('git_settings', 'like', '%"requireSignedCommits":true%')
    .where('desired_revision', 'is not', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
