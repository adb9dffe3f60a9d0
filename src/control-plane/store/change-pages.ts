import { sql, type Kysely } from 'kysely';
import type { Store } from './open-store.ts';
import type { ChangeRow, Database } from './schema.ts';

export type StoredChange = Omit<ChangeRow, 'seq'> & { readonly seq: number };

/** Row of `installation`: the highest number that was taken out of the log (`change-retention.ts`). */
export const CHANGES_TRIMMED = 'changes-trimmed';

/** Of all organizations, in the order of their numbers; those behind `after`. */
export async function readChanges(
  db: Kysely<Database>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<StoredChange[]> {
  return await db.selectFrom('changes').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute();
}

/** Of one organization; those behind `after` and not behind `upTo`. */
export async function readChangesOf(
  db: Kysely<Database>,
  organizationId: string,
  { after, upTo, limit }: { readonly after: number; readonly upTo: number; readonly limit: number },
): Promise<StoredChange[]> {
  return await db
    .selectFrom('changes')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('seq', '>', after)
    .where('seq', '<=', upTo)
    .orderBy('seq')
    .limit(limit)
    .execute();
}

/** From where to where the log reaches: whoever has seen less than `from`, or more than `to`, cannot go on. */
export async function reachOfChanges(db: Kysely<Database>): Promise<{ readonly from: number; readonly to: number }> {
  const last = await db
    .selectFrom('changes')
    .select((eb) => eb.fn.max('seq').as('seq'))
    .executeTakeFirst();
  const trimmed = await db
    .selectFrom('installation')
    .select('value')
    .where('name', '=', CHANGES_TRIMMED)
    .executeTakeFirst();
  const from = Number(trimmed?.value ?? 0);
  return { from, to: Math.max(from, last?.seq ?? 0) };
}

/**
 * On PostgreSQL, where several write at once, a number can be seen before a smaller one whose transaction has not ended.
 * Every transaction that had a number before `markTransactions` has ended once `oldestTransaction` reaches the mark.
 */
export async function markTransactions(db: Kysely<Database>): Promise<bigint> {
  const { rows } = await sql<{ mark: string }>`SELECT pg_current_xact_id()::text AS mark`.execute(db);
  return BigInt(rows[0]?.mark ?? 0);
}

/** Of those that have not ended. To be asked before the rows are read that are to be complete. */
export async function oldestTransaction(db: Kysely<Database>): Promise<bigint> {
  const { rows } = await sql<{ oldest: string }>`
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS oldest`.execute(db);
  return BigInt(rows[0]?.oldest ?? 0);
}

/** Whether numbers are seen in the order in which they were given. */
export function isInOrder(store: Pick<Store, 'session'>): boolean {
  return store.session === undefined;
}
