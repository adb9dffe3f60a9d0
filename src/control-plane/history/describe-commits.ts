import type { Kysely } from 'kysely';
import { verifyCommit, type TrustedSigner } from '../../git/signing/commit-signature.ts';
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
 * that cluster, and the intent's receipt names this commit, or one of `signers` has signed it (an intent that was delivered
 * again has several commits, and one that was just pushed has no receipt yet).
 */
export async function describeCommits(
  db: Kysely<Database>,
  organizationId: string,
  commits: readonly GitCommit[],
  signers: readonly TrustedSigner[],
): Promise<readonly DescribedCommit[]> {
  const named = (trailer: string): string[] => [...new Set(commits.flatMap(({ trailers }) => trailers[trailer] ?? []))];
  const intents = await intentsOf(db, organizationId, named('Intent-Id'));
  const receipts = await receiptsOf(db, [...intents.keys()]);
  const slugs = await slugsOf(db, organizationId, named('Cluster-Id'));
  return commits.map((commit) => {
    const { 'Intent-Id': intentId = '', 'Cluster-Id': clusterId = '', 'Layout-Move-Id': moveId } = commit.trailers;
    const clusterSlug = slugs.get(clusterId);
    const found = intents.get(intentId);
    const isOurs =
      found?.cluster_id === clusterId && (receipts.get(intentId) === commit.id || isSigned(commit, signers));
    const intent = isOurs ? found : undefined;
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

/** Commit by intent. */
async function receiptsOf(db: Kysely<Database>, ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('receipts')
    .select(['intent_id', 'commit_id'])
    .where('intent_id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.intent_id, row.commit_id]));
}

function isSigned({ bytes }: GitCommit, signers: readonly TrustedSigner[]): boolean {
  return bytes !== undefined && verifyCommit(bytes, signers).state === 'trusted';
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
