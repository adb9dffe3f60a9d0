import type { Kysely } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import { CHANGES_TRIMMED } from '../store/change-pages.ts';
import type { Store } from '../store/open-store.ts';
import type { Database } from '../store/schema.ts';

/** A day: a tab that slept longer looks at everything again. */
export const CHANGES_KEPT_MS = 24 * 60 * 60 * 1000;
export const MAX_CHANGES = 200_000;
/** Rows of a write, so that it holds up others for a moment only. */
const CHUNK = 5000;

/** Takes what is too old, or too much, out of the log of changes, and keeps up to where. */
export async function trimChanges(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  maxChanges = MAX_CHANGES,
): Promise<void> {
  const upTo = await endOfOld(store.db, new Date(clock.now().getTime() - CHANGES_KEPT_MS).toISOString(), maxChanges);
  for (let from = await firstSeq(store.db); from !== undefined && from <= upTo; from = await firstSeq(store.db)) {
    const to = Math.min(upTo, from + CHUNK - 1);
    await store.write(async (trx) => {
      await trx.deleteFrom('changes').where('seq', '<=', to).execute();
      await trx
        .insertInto('installation')
        .values({ name: CHANGES_TRIMMED, value: String(to) })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: String(to) }))
        .execute();
    });
  }
}

async function firstSeq(db: Kysely<Database>): Promise<number | undefined> {
  const first = await db.selectFrom('changes').select('seq').orderBy('seq').limit(1).executeTakeFirst();
  return first?.seq;
}

/** 0: nothing is to go. */
async function endOfOld(db: Kysely<Database>, before: string, maxChanges: number): Promise<number> {
  const old = await db
    .selectFrom('changes')
    .select('seq')
    .where('at', '<', before)
    .orderBy('at', 'desc')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const last = await db.selectFrom('changes').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst();
  return Math.max(old?.seq ?? 0, (last?.seq ?? 0) - maxChanges);
}
