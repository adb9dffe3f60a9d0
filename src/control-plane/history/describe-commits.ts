import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import type { Database, IntentRow } from '../store/schema.ts';
import type { GitCommit } from './git-commit.ts';

/** A commit with what the control plane knows of it. */
export interface DescribedCommit extends GitCommit {
  /**
   * `intent`: of an intent of this organization, for the cluster that the commit names. `layout-move`: it moved every
   * cluster's directory. `other`: a person's, or of something else than this control plane.
   */
  readonly kind: 'intent' | 'layout-move' | 'other';
  readonly clusterSlug?: string;
  readonly intent?: IntentRow;
}

/** Who asked for an intent, and why. */
export function reasonOf(intent: Pick<IntentRow, 'record'>): string | undefined {
  return (JSON.parse(intent.record) as Pick<IntentRecord, 'reason'>).reason;
}

/**
 * Looks up what commits say of themselves. A trailer is only text: it counts where the organization has that intent, for
 * that cluster.
 */
export async function describeCommits(
  db: Kysely<Database>,
  organizationId: string,
  commits: readonly GitCommit[],
): Promise<readonly DescribedCommit[]> {
  const named = (trailer: string): string[] => [...new Set(commits.flatMap(({ trailers }) => trailers[trailer] ?? []))];
  const intents = await intentsOf(db, organizationId, named('Intent-Id'));
  const slugs = await slugsOf(db, organizationId, named('Cluster-Id'));
  return commits.map((commit) => {
    const { 'Intent-Id': intentId = '', 'Cluster-Id': clusterId = '', 'Layout-Move-Id': moveId } = commit.trailers;
    const clusterSlug = slugs.get(clusterId);
    const found = intents.get(intentId);
    const intent = found?.cluster_id === clusterId ? found : undefined;
    return {
      ...commit,
      kind: intent !== undefined ? 'intent' : moveId === undefined ? 'other' : 'layout-move',
      ...(clusterSlug === undefined ? {} : { clusterSlug }),
      ...(intent === undefined ? {} : { intent }),
    };
  });
}

async function intentsOf(
  db: Kysely<Database>,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, IntentRow>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('intents')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function slugsOf(
  db: Kysely<Database>,
  organizationId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const of = async (table: 'clusters' | 'deleted_clusters') =>
    await db
      .selectFrom(table)
      .select(['id', 'slug'])
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids)
      .execute();
  return new Map([...(await of('deleted_clusters')), ...(await of('clusters'))].map(({ id, slug }) => [id, slug]));
}
