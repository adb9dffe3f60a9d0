import type { Kysely } from 'kysely';
import type { Database, ModeHandoverRow } from './schema.ts';

/**
 * The cluster has a later generation of the object than was brought, or has none any more: it stays as it is, the switch
 * lists it with why, and nobody waits for it. Leaving one twice changes nothing.
 */
export async function leaveHandover(
  trx: Kysely<Database>,
  row: Pick<ModeHandoverRow, 'switch_id' | 'epoch' | 'intent_id' | 'target_kind' | 'namespace' | 'name'>,
  reason: string,
  at: string,
): Promise<void> {
  const dropped = await trx
    .updateTable('mode_handovers')
    .set({ state: 'dropped', reason, confirmed_at: at })
    .where('switch_id', '=', row.switch_id)
    .where('epoch', '=', row.epoch)
    .where('intent_id', '=', row.intent_id)
    .where('state', 'in', ['pending', 'delivered'])
    .executeTakeFirst();
  if (Number(dropped.numUpdatedRows) === 0) return;
  const known = await trx
    .selectFrom('mode_switches')
    .select('objects_left')
    .where('id', '=', row.switch_id)
    .executeTakeFirst();
  if (known === undefined) return;
  const { target_kind: kind, namespace, name } = row;
  const left = [...(JSON.parse(known.objects_left ?? '[]') as object[]), { kind, namespace, name, reason }];
  await trx
    .updateTable('mode_switches')
    .set({ objects_left: JSON.stringify(left) })
    .where('id', '=', row.switch_id)
    .execute();
}
