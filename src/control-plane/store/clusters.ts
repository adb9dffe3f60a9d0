import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { PublicJwk } from '../../protocol/register.ts';
import type { ClusterRow, Database } from './schema.ts';

export async function findCluster(db: Kysely<Database>, id: string): Promise<ClusterRow | undefined> {
  return await db.selectFrom('clusters').selectAll().where('id', '=', id).executeTakeFirst();
}

/** A cluster of one organization; another organization's is not found. */
export async function findClusterOf(
  db: Kysely<Database>,
  organizationId: string,
  id: string,
): Promise<ClusterRow | undefined> {
  const query = db.selectFrom('clusters').selectAll();
  return await query.where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst();
}

/** What an admin decides about a new cluster. Lists and settings are JSON text. */
export type PendingCluster = Omit<
  ClusterRow,
  | 'status'
  | 'disabled_at'
  | 'delivery_epoch'
  | 'delivery_held'
  | 'reported_epoch'
  | 'config_revision'
  | 'cluster_uid'
  | 'public_key'
  | 'desired_revision'
  | 'applied_revision'
  | 'operator_version'
  | 'desired_operator_version'
  | 'last_contact_at'
  | 'disconnected_at'
  | 'revoked_at'
  | 'deliver_intents'
  | 'require_client_certificate'
  | 'registered_at'
  | 'own_intervals'
  | 'approval_namespaces'
  | 'git_settings'
  | 'accepted_removals'
  | 'trusted_revision'
> &
  Partial<Pick<ClusterRow, 'own_intervals' | 'git_settings'>>;

/**
 * A new identity record, Pending until its operator registers.
 *
 * @throws a unique violation (`isUniqueViolation`) when the organization has a cluster of that slug
 */
export async function insertPendingCluster(trx: Kysely<Database>, cluster: PendingCluster): Promise<ClusterRow> {
  const row: ClusterRow = {
    own_intervals: null,
    approval_namespaces: null,
    git_settings: null,
    ...cluster,
    status: 'Pending',
    disabled_at: null,
    accepted_removals: null,
    delivery_epoch: 1,
    delivery_held: 0,
    reported_epoch: null,
    config_revision: 1,
    cluster_uid: null,
    public_key: null,
    desired_revision: null,
    trusted_revision: null,
    applied_revision: null,
    operator_version: null,
    desired_operator_version: null,
    revoked_at: null,
    deliver_intents: 0,
    require_client_certificate: 0,
    last_contact_at: null,
    disconnected_at: null,
    registered_at: null,
  };
  await trx.insertInto('clusters').values(row).execute();
  return row;
}

/**
 * Pending → Active, or Active again after a new registration. What the operator does not say is kept: the binding to a
 * cluster's UID is never loosened, and secrets sealed to a key must not lose it.
 */
export async function activateCluster(
  trx: Kysely<Database>,
  id: string,
  registration: {
    readonly clusterUid: string | undefined;
    readonly publicKey: PublicJwk | undefined;
    readonly operatorVersion: string | undefined;
    readonly at: string;
  },
): Promise<void> {
  const { clusterUid, publicKey, operatorVersion, at } = registration;
  await trx
    .updateTable('clusters')
    .set({ status: 'Active', registered_at: at, last_contact_at: at, revoked_at: null })
    .$if(clusterUid !== undefined, (query) => query.set({ cluster_uid: clusterUid ?? null }))
    .$if(publicKey !== undefined, (query) => query.set({ public_key: JSON.stringify(publicKey) }))
    .$if(operatorVersion !== undefined, (query) => query.set({ operator_version: operatorVersion ?? null }))
    .where('id', '=', id)
    .execute();
}

/**
 * The projection that `/config` answers has changed. Call in the transaction of the change, and notify the cluster's
 * config topic after it. Answers the new revision.
 */
export async function raiseConfigRevision(trx: Kysely<Database>, id: string): Promise<number> {
  const row = await trx
    .updateTable('clusters')
    .set((eb) => ({ config_revision: eb('config_revision', '+', 1) }))
    .where('id', '=', id)
    .returning('config_revision')
    .executeTakeFirstOrThrow();
  return row.config_revision;
}

/** The same for every cluster of an organization (a catalog entry changed). Answers their ids, whose topics to notify. */
export async function raiseConfigRevisions(trx: Kysely<Database>, organizationId: string): Promise<string[]> {
  const rows = await trx
    .updateTable('clusters')
    .set((eb) => ({ config_revision: eb('config_revision', '+', 1) }))
    .where('organization_id', '=', organizationId)
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** A gitops cluster's directory and what Git was last known to hold there. */
export interface ClusterDirectory {
  readonly id: string;
  readonly directory: string;
  readonly desiredRevision: string;
}

/** Of the clusters of one repository, those with something committed. */
export async function directoriesOfRepository(db: Kysely<Database>, repositoryId: string): Promise<ClusterDirectory[]> {
  const rows = await db
    .selectFrom('clusters')
    .select(['id', 'git_directory', 'desired_revision'])
    .where('repository_id', '=', repositoryId)
    .where('connectivity_mode', '=', 'gitops')
    .execute();
  return rows.flatMap(({ id, git_directory: directory, desired_revision: desiredRevision }) =>
    directory === null || desiredRevision === null ? [] : [{ id, directory, desiredRevision }],
  );
}

/** As `setDesiredRevision`, unless somebody else has set another one, or moved the directory, since `before` was read. */
export async function replaceDesiredRevision(
  trx: Kysely<Database>,
  before: ClusterDirectory,
  revision: string,
): Promise<boolean> {
  const result = await trx
    .updateTable('clusters')
    .set((eb) => ({
      desired_revision: revision,
      config_revision: eb('config_revision', '+', 1),
      accepted_removals: stillAccepted(revision),
    }))
    .where('id', '=', before.id)
    .where('git_directory', '=', before.directory)
    .where('desired_revision', '=', before.desiredRevision)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** What Git now holds for the cluster (a tree id). Raises the config revision when it differs; answers whether it did. */
export async function setDesiredRevision(trx: Kysely<Database>, id: string, revision: string): Promise<boolean> {
  const result = await trx
    .updateTable('clusters')
    .set((eb) => ({
      desired_revision: revision,
      config_revision: eb('config_revision', '+', 1),
      accepted_removals: stillAccepted(revision),
    }))
    .where('id', '=', id)
    .where('desired_revision', 'is distinct from', revision)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** What the operator says it has applied. */
export async function setAppliedRevision(trx: Kysely<Database>, id: string, revision: string): Promise<void> {
  await trx
    .updateTable('clusters')
    .set({ applied_revision: revision })
    .where('id', '=', id)
    .where('applied_revision', 'is distinct from', revision)
    .execute();
  await trx
    .updateTable('clusters')
    .set({ accepted_removals: null })
    .where('id', '=', id)
    .where('accepted_removals', 'like', `${revision}@%`)
    .execute();
}

/** Removals are accepted for one tree: with another one that is superseded. */
function stillAccepted(revision: string): RawBuilder<string | null> {
  return sql`case when accepted_removals like ${`${revision}@%`} then accepted_removals end`;
}
