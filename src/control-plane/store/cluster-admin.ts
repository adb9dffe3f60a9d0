import type { Kysely, Updateable } from 'kysely';
import { isClusterId } from '../../protocol/ids.ts';
import { findClusterOf } from './clusters.ts';
import type { ClusterRow, Database, DeletedClusterRow } from './schema.ts';

/** A cluster of one organization by its id or its slug; no slug looks like an id. */
export async function findClusterNamed(
  db: Kysely<Database>,
  organizationId: string,
  idOrSlug: string,
): Promise<ClusterRow | undefined> {
  if (isClusterId(idOrSlug)) return await findClusterOf(db, organizationId, idOrSlug);
  return await db
    .selectFrom('clusters')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('slug', '=', idOrSlug)
    .executeTakeFirst();
}

/** What an admin may change of a cluster. */
export type ClusterChange = Pick<
  Updateable<ClusterRow>,
  | 'display_name'
  | 'labels'
  | 'allowed_namespaces'
  | 'allowed_catalog_entries'
  | 'allowed_operation_templates'
  | 'approval_namespaces'
  | 'intervals'
  | 'own_intervals'
  | 'security'
  | 'git_settings'
  | 'deliver_intents'
  | 'require_client_certificate'
  | 'desired_operator_version'
  | 'disabled_at'
>;

export async function changeCluster(trx: Kysely<Database>, id: string, change: ClusterChange): Promise<void> {
  await trx.updateTable('clusters').set(change).where('id', '=', id).execute();
}

/** A person has looked at these removals, `<tree>@<digest>`; null: whatever was accepted is so no more. */
export async function acceptRemovals(trx: Kysely<Database>, id: string, revision: string | null): Promise<void> {
  await trx.updateTable('clusters').set({ accepted_removals: revision }).where('id', '=', id).execute();
}

/** Ends the registration tokens of a cluster that nobody has used: a record has one way in at a time. */
export async function expireRegistrationTokens(trx: Kysely<Database>, clusterId: string, at: string): Promise<void> {
  await trx
    .updateTable('registration_tokens')
    .set({ expires_at: at })
    .where('cluster_id', '=', clusterId)
    .where('used_at', 'is', null)
    .where('expires_at', '>', at)
    .execute();
}

/** What is left of a cluster that was deleted, by its id or its slug. */
export async function findDeletedCluster(
  db: Kysely<Database>,
  organizationId: string,
  idOrSlug: string,
): Promise<DeletedClusterRow | undefined> {
  return await db
    .selectFrom('deleted_clusters')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([eb('id', '=', idOrSlug), eb('slug', '=', idOrSlug)]))
    .executeTakeFirst();
}
