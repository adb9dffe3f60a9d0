import type { Kysely } from 'kysely';
import type { Database, RepositoryRow } from './schema.ts';

/** Slugs of the clusters whose directory is in the repository, by slug. */
export async function clustersOfRepository(db: Kysely<Database>, repositoryId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('clusters')
    .select('slug')
    .where('repository_id', '=', repositoryId)
    .orderBy('slug')
    .execute();
  return rows.map(({ slug }) => slug);
}

/** Those of them that read there, or that a switch of mode brings there or back. The others only remember it. */
export async function readersOfRepository(db: Kysely<Database>, repositoryId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('clusters')
    .leftJoin('mode_switches', 'mode_switches.open_for', 'clusters.id')
    .select('slug')
    .where((eb) =>
      eb.or([
        eb.and([
          eb('clusters.repository_id', '=', repositoryId),
          eb.or([eb('connectivity_mode', '=', 'gitops'), eb('mode_switches.id', 'is not', null)]),
        ]),
        eb('mode_switches.before', 'like', `%${JSON.stringify(repositoryId)}%`),
        eb('mode_switches.options', 'like', `%${JSON.stringify(repositoryId)}%`),
      ]),
    )
    .orderBy('slug')
    .execute();
  return rows.map(({ slug }) => slug);
}

/** Clusters that read there before they were moved to another mode come back to it no more. */
export async function forgetRepositoryAtClusters(trx: Kysely<Database>, repositoryId: string): Promise<void> {
  await trx
    .updateTable('clusters')
    .set({ repository_id: null, git_directory: null })
    .where('repository_id', '=', repositoryId)
    .execute();
}

/** Every cluster of a repository is to ask for its configuration again. Answers their ids, whose topics to notify. */
export async function raiseConfigRevisionsOf(trx: Kysely<Database>, repositoryId: string): Promise<string[]> {
  const rows = await trx
    .updateTable('clusters')
    .set((eb) => ({ config_revision: eb('config_revision', '+', 1) }))
    .where('repository_id', '=', repositoryId)
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** With the credentials that were issued for it. Nothing of it may be in use. */
export async function deleteRepositoryRow(trx: Kysely<Database>, id: string): Promise<void> {
  await trx.deleteFrom('git_credentials').where('repository_id', '=', id).execute();
  await trx.deleteFrom('repositories').where('id', '=', id).execute();
}

/** Those that this control plane does not serve itself, of every organization. */
export async function repositoriesOfOtherHosts(db: Kysely<Database>): Promise<RepositoryRow[]> {
  return await db
    .selectFrom('repositories')
    .selectAll()
    .where('embedded', '=', 0)
    .where('host', 'is not', null)
    .orderBy('id')
    .execute();
}

/** Stores what a probe found, unless the credentials were replaced since: then it says nothing of them. */
export async function storeProbe(
  trx: Kysely<Database>,
  row: Pick<RepositoryRow, 'id' | 'credentials_sealed' | 'probe' | 'credential_info'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('repositories')
    .set({ probe: row.probe, credential_info: row.credential_info })
    .where('id', '=', row.id)
    .where('credentials_sealed', '=', row.credentials_sealed)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Whether an intent of a cluster of this repository was delivered after `at`. */
export async function wasDeliveredSince(db: Kysely<Database>, repositoryId: string, at: string): Promise<boolean> {
  const found = await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select('intents.id')
    .where('clusters.repository_id', '=', repositoryId)
    .where('intents.delivered_at', '>', at)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
