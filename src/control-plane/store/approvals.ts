import type { Kysely, Updateable } from 'kysely';
import { noteRows, OF_CHANGED } from './changes.ts';
import type { ApprovalReviewRow, ApprovalRow, ApprovalState, Database } from './schema.ts';

/** By its own id, or by that of its intent, which people have at hand. Of one organization; another's is not found. */
export async function findApprovalOf(
  db: Kysely<Database>,
  organizationId: string,
  id: string,
): Promise<ApprovalRow | undefined> {
  const query = db.selectFrom('approvals').selectAll();
  const column = id.startsWith('int-') ? 'intent_id' : 'id';
  return await query.where(column, '=', id).where('organization_id', '=', organizationId).executeTakeFirst();
}

/** The row, which nobody else changes until this transaction ends. By an update, which every database understands. */
export async function lockApproval(trx: Kysely<Database>, id: string): Promise<ApprovalRow | undefined> {
  return await trx
    .updateTable('approvals')
    .set((eb) => ({ spec_hash: eb.ref('spec_hash') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

export async function approvalsOfIntents(
  db: Kysely<Database>,
  intentIds: readonly string[],
): Promise<Map<string, ApprovalRow>> {
  if (intentIds.length === 0) return new Map();
  const rows = await db.selectFrom('approvals').selectAll().where('intent_id', 'in', intentIds).execute();
  return new Map(rows.map((row) => [row.intent_id, row]));
}

export interface ApprovalFilter {
  readonly organizationId: string;
  readonly clusterId: string | undefined;
  readonly state: ApprovalState | undefined;
}

/** The newest first; at most `limit`, those asked for before `before`. */
export async function listApprovals(
  db: Kysely<Database>,
  { organizationId, clusterId, state }: ApprovalFilter,
  page: { readonly limit: number; readonly before: readonly [requestedAt: string, id: string] | undefined },
): Promise<ApprovalRow[]> {
  let query = db
    .selectFrom('approvals')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit);
  if (clusterId !== undefined) query = query.where('cluster_id', '=', clusterId);
  if (state !== undefined) query = query.where('state', '=', state);
  const { before } = page;
  if (before !== undefined) {
    query = query.where((eb) =>
      eb.or([
        eb('requested_at', '<', before[0]),
        eb.and([eb('requested_at', '=', before[0]), eb('id', '<', before[1])]),
      ]),
    );
  }
  return await query.execute();
}

/** In the order in which they were given. */
export async function reviewsOfApprovals(
  db: Kysely<Database>,
  approvalIds: readonly string[],
): Promise<Map<string, ApprovalReviewRow[]>> {
  if (approvalIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('approval_reviews')
    .selectAll()
    .where('approval_id', 'in', approvalIds)
    .orderBy('at')
    .orderBy('id')
    .execute();
  return Map.groupBy(rows, ({ approval_id: id }) => id);
}

export async function insertApproval(trx: Kysely<Database>, row: ApprovalRow): Promise<void> {
  await trx.insertInto('approvals').values(row).execute();
  noteRows(trx, 'approvals', [row]);
}

export async function updateApproval(
  trx: Kysely<Database>,
  id: string,
  change: Updateable<ApprovalRow>,
): Promise<void> {
  const changed = await trx.updateTable('approvals').set(change).where('id', '=', id).returning(OF_CHANGED).execute();
  noteRows(trx, 'approvals', changed);
}

/** Storing one twice changes nothing. */
export async function insertApprovalReviews(trx: Kysely<Database>, rows: readonly ApprovalReviewRow[]): Promise<void> {
  if (rows.length === 0) return;
  await trx
    .insertInto('approval_reviews')
    .values([...rows])
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
