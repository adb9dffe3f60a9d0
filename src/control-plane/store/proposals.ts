import type { Kysely, Updateable } from 'kysely';
import { compileParser } from '../../protocol/parse.ts';
import { Type } from 'typebox';
import type { BlobPin } from '../../delivery/delivery.ts';
import { noteRows, OF_CHANGED } from './changes.ts';
import type { Database, ProposalReviewRow, ProposalRow, ProposalState } from './schema.ts';

/** States in which something may still become of a proposal. */
export const UNDECIDED: readonly ProposalState[] = ['open', 'merging'];

const parsePins = compileParser(
  Type.Array(
    Type.Object({
      path: Type.String(),
      before: Type.Optional(Type.String()),
      after: Type.Optional(Type.String()),
    }),
  ),
);

/** What the commit of a proposal changes; empty while it is being rendered anew. */
export function pinsIn({ pins }: Pick<ProposalRow, 'pins'>): readonly BlobPin[] {
  return parsePins(JSON.parse(pins));
}

/** Of one organization; another organization's is not found. */
export async function findProposalOf(
  db: Kysely<Database>,
  organizationId: string,
  id: string,
): Promise<ProposalRow | undefined> {
  const query = db.selectFrom('proposals').selectAll();
  return await query.where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst();
}

/** The row, which nobody else changes until this transaction ends. By an update, which every database understands. */
export async function lockProposal(trx: Kysely<Database>, id: string): Promise<ProposalRow | undefined> {
  return await trx
    .updateTable('proposals')
    .set((eb) => ({ revision: eb.ref('revision') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

export async function proposalsOfIntents(
  db: Kysely<Database>,
  intentIds: readonly string[],
): Promise<Map<string, ProposalRow>> {
  if (intentIds.length === 0) return new Map();
  const rows = await db.selectFrom('proposals').selectAll().where('intent_id', 'in', intentIds).execute();
  return new Map(rows.map((row) => [row.intent_id, row]));
}

export interface ProposalFilter {
  readonly organizationId: string;
  readonly clusterId: string | undefined;
  readonly state: ProposalState | undefined;
}

/** The newest first; at most `limit`, those made before `before`. */
export async function listProposals(
  db: Kysely<Database>,
  { organizationId, clusterId, state }: ProposalFilter,
  page: { readonly limit: number; readonly before: readonly [createdAt: string, id: string] | undefined },
): Promise<ProposalRow[]> {
  let query = db
    .selectFrom('proposals')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit);
  if (clusterId !== undefined) query = query.where('cluster_id', '=', clusterId);
  if (state !== undefined) query = query.where('state', '=', state);
  const { before } = page;
  if (before !== undefined) {
    query = query.where((eb) =>
      eb.or([eb('created_at', '<', before[0]), eb.and([eb('created_at', '=', before[0]), eb('id', '<', before[1])])]),
    );
  }
  return await query.execute();
}

/** Those of which something may still become, the oldest first. What is beyond the limit comes when these are done. */
export async function undecidedProposals(db: Kysely<Database>, limit: number): Promise<ProposalRow[]> {
  return await db
    .selectFrom('proposals')
    .selectAll()
    .where('state', 'in', UNDECIDED)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Ids of those in a repository of which something may still become, the oldest first. */
export async function undecidedOfRepository(
  trx: Kysely<Database>,
  repositoryId: string,
  limit: number,
): Promise<string[]> {
  const rows = await trx
    .selectFrom('proposals')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('state', 'in', UNDECIDED)
    .orderBy('created_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Those about the object of an intent, of older generations, of which something may still become. */
export async function olderProposals(
  db: Kysely<Database>,
  intent: {
    readonly cluster_id: string;
    readonly target_kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly generation: number;
  },
): Promise<ProposalRow[]> {
  return await db
    .selectFrom('proposals')
    .innerJoin('intents', 'intents.id', 'proposals.intent_id')
    .selectAll('proposals')
    .where('proposals.cluster_id', '=', intent.cluster_id)
    .where('proposals.state', 'in', UNDECIDED)
    .where('intents.target_kind', '=', intent.target_kind)
    .where('intents.namespace', '=', intent.namespace)
    .where('intents.name', '=', intent.name)
    .where('intents.generation', '<', intent.generation)
    .execute();
}

/** Closed since `since`, and their branch is still to be deleted. */
export async function proposalsWithStaleBranch(
  db: Kysely<Database>,
  since: string,
  limit: number,
): Promise<(ProposalRow & { readonly slug: string })[]> {
  return await db
    .selectFrom('proposals')
    .innerJoin('clusters', 'clusters.id', 'proposals.cluster_id')
    .selectAll('proposals')
    .select('clusters.slug')
    .where('proposals.closed_at', '>', since)
    .where('branch_settled_at', 'is', null)
    .where('head_commit', 'is not', null)
    // A host closes a request whose branch is gone, and then nobody would read there why.
    .where((eb) => eb.or([eb('host_number', 'is', null), eb('host_closed_at', 'is not', null)]))
    .orderBy('proposals.closed_at')
    .limit(limit)
    .execute();
}

export async function updateProposal(
  trx: Kysely<Database>,
  id: string,
  change: Updateable<ProposalRow>,
): Promise<void> {
  const changed = await trx.updateTable('proposals').set(change).where('id', '=', id).returning(OF_CHANGED).execute();
  noteRows(trx, 'proposals', changed);
}

/** In the order in which they were given. */
export async function reviewsOf(
  db: Kysely<Database>,
  proposalIds: readonly string[],
): Promise<Map<string, ProposalReviewRow[]>> {
  if (proposalIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('proposal_reviews')
    .selectAll()
    .where('proposal_id', 'in', proposalIds)
    .orderBy('at')
    .orderBy('id')
    .execute();
  return Map.groupBy(rows, ({ proposal_id: id }) => id);
}

/** Of all its revisions; they stay, and no longer count. */
export async function dropApprovals(trx: Kysely<Database>, proposalId: string, at: string): Promise<void> {
  await trx
    .updateTable('proposal_reviews')
    .set({ dropped_at: at })
    .where('proposal_id', '=', proposalId)
    .where('kind', '=', 'approve')
    .where('dropped_at', 'is', null)
    .execute();
}
