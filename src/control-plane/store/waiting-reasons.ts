import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Store } from './open-store.ts';
import { noteIntents, OF_CHANGED_INTENT } from './changes.ts';
import type { Database } from './schema.ts';

const MAX_REASON = 600;
export const WAITING = 'Waiting: ';

/** What `reason` is once an intent waits no more: any other reason stays. */
export function withoutWaiting(): RawBuilder<string | null> {
  return sql<string | null>`CASE WHEN reason LIKE ${`${WAITING}%`} THEN NULL ELSE reason END`;
}

/**
 * Keeps why accepted intents wait, so that whoever looks at one sees it. Written where it is another reason than before:
 * trying again for days writes nothing.
 */
export async function storeWaitingReasons(
  store: Pick<Store, 'db' | 'write'>,
  why: ReadonlyMap<string, string>,
): Promise<void> {
  if (why.size === 0) return;
  const known = await accepted(store.db, [...why.keys()]);
  const changed = known.flatMap(({ id, reason }) => {
    const now = `${WAITING}${why.get(id) ?? ''}`.slice(0, MAX_REASON);
    return now === reason ? [] : [{ id, reason: now }];
  });
  if (changed.length === 0) return;
  await store.write(async (trx) => {
    for (const { id, reason } of changed) {
      const waiting = await trx
        .updateTable('intents')
        .set({ reason })
        .where('id', '=', id)
        .where('state', '=', 'accepted')
        .returning(OF_CHANGED_INTENT)
        .execute();
      noteIntents(trx, waiting);
    }
  });
}

async function accepted(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<{ readonly id: string; readonly reason: string | null }[]> {
  return await db
    .selectFrom('intents')
    .select(['id', 'reason'])
    .where('id', 'in', ids)
    .where('state', '=', 'accepted')
    .execute();
}
