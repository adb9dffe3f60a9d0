import type { Kysely } from 'kysely';
import type { LayoutMove, LayoutMoved } from '../../delivery/gitops/write/layout-record.ts';
import { clusterDirectory, type RepositoryLayout } from '../../delivery/gitops/layout.ts';
import type { Database, RepositoryRow } from './schema.ts';

/** Of one transaction: other writes come in between. */
const CLUSTERS_AT_ONCE = 500;

/** What a repository's row says of a move. */
export function layoutMoveOf(row: Pick<RepositoryRow, 'layout_move'>): LayoutMove | undefined {
  return row.layout_move === null ? undefined : (JSON.parse(row.layout_move) as LayoutMove);
}

/** Moves whose commits are kept, so that a cluster's history is followed through them. */
export const MAX_LAYOUT_HISTORY = 20;

/** The moves that are at their end, the oldest first; the last `MAX_LAYOUT_HISTORY` of them. */
export function layoutHistoryOf(row: Pick<RepositoryRow, 'layout_history'>): readonly LayoutMoved[] {
  return row.layout_history === null ? [] : (JSON.parse(row.layout_history) as readonly LayoutMoved[]);
}

/** Records that the repository is to be moved. False: it is being moved already, or has the layout. */
export async function recordLayoutMove(
  trx: Kysely<Database>,
  repositoryId: string,
  move: LayoutMove,
): Promise<boolean> {
  const result = await trx
    .updateTable('repositories')
    .set({ layout_move: JSON.stringify(move) })
    .where('id', '=', repositoryId)
    .where('layout_move', 'is', null)
    .where('layout', '<>', move.to)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/**
 * The branch has the layout that the move is to: records it, and the commit from which it holds. The move stays recorded.
 * Answers that commit; undefined: the move was at its end already, or another one was begun.
 */
export async function takeLayout(
  trx: Kysely<Database>,
  repositoryId: string,
  move: LayoutMove,
  commit: string | undefined,
): Promise<{ readonly commit: string | undefined } | undefined> {
  // Held until the end of the transaction, so that what is read next is what it stays.
  const taken = await trx
    .updateTable('repositories')
    .set((eb) => ({ layout_move: eb.ref('layout_move') }))
    .where('id', '=', repositoryId)
    .where('layout_move', '=', JSON.stringify(move))
    .returning(['layout', 'layout_history'])
    .executeTakeFirst();
  if (taken === undefined) return undefined;
  const history = layoutHistoryOf(taken);
  const known = history.find(({ id }) => id === move.id);
  const isNew = known === undefined && commit !== undefined;
  const moved = isNew ? [{ id: move.id, commit, from: taken.layout, to: move.to }] : [];
  await trx
    .updateTable('repositories')
    .set({
      layout: move.to,
      layout_history: JSON.stringify([...history, ...moved].slice(-MAX_LAYOUT_HISTORY)),
    })
    .where('id', '=', repositoryId)
    .execute();
  return { commit: known?.commit ?? commit };
}

/** Ends a move; the layout stays what it is. False: it was at its end already, or another one was begun. */
export async function endLayoutMove(trx: Kysely<Database>, repositoryId: string, move: LayoutMove): Promise<boolean> {
  const result = await trx
    .updateTable('repositories')
    .set({ layout_move: null })
    .where('id', '=', repositoryId)
    .where('layout_move', '=', JSON.stringify(move))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Ids of the repositories that are being moved. */
export async function repositoriesOnTheMove(db: Kysely<Database>): Promise<string[]> {
  const rows = await db.selectFrom('repositories').select('id').where('layout_move', 'is not', null).execute();
  return rows.map(({ id }) => id);
}

/**
 * Lets some of a repository's clusters read at their place in the layout. Answers those that were changed; empty: all of
 * them read there. Their config topics are to be notified after the transaction.
 */
export async function placeClusters(
  trx: Kysely<Database>,
  repositoryId: string,
  layout: RepositoryLayout,
): Promise<readonly string[]> {
  // The one place that needs no hash tells the two layouts apart.
  const misplaced = await trx
    .selectFrom('clusters')
    .select(['id', 'slug', 'git_directory'])
    .where('repository_id', '=', repositoryId)
    .where('git_directory', 'is not', null)
    .where((eb) => {
      const flat = eb(eb.val('clusters/'), '||', eb.ref('slug'));
      return eb('git_directory', layout === 'flat' ? '<>' : '=', flat);
    })
    .orderBy('id')
    .limit(CLUSTERS_AT_ONCE)
    .execute();
  for (const { id, slug } of misplaced) {
    await trx
      .updateTable('clusters')
      .set((eb) => ({
        git_directory: clusterDirectory(layout, slug),
        config_revision: eb('config_revision', '+', 1),
      }))
      .where('id', '=', id)
      .execute();
  }
  return misplaced.map(({ id }) => id);
}

/** Slugs of clusters whose directory may be in the repository, those of deleted ones included. */
export async function slugsOf(
  db: Kysely<Database>,
  repository: Pick<RepositoryRow, 'id' | 'organization_id'>,
): Promise<string[]> {
  const present = await db.selectFrom('clusters').select('slug').where('repository_id', '=', repository.id).execute();
  // Where a deleted one's directory is has not been kept; one that is elsewhere is not found, and not moved.
  const deleted = await db
    .selectFrom('deleted_clusters')
    .select('slug')
    .where('organization_id', '=', repository.organization_id)
    .execute();
  return [...new Set([...present, ...deleted].map(({ slug }) => slug))];
}
