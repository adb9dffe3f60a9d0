import type { Kysely } from 'kysely';
import { redeliverIntent } from '../store/intent-redelivery.ts';
import type { ClusterRow, Database, ModeSwitchRow } from '../store/schema.ts';
import { objectsLeftOf, type ObjectLeft } from './mode-switch.ts';

/**
 * What the way back could not bring, with what was left before: refused, or held up alone. It stays in the cluster as it is,
 * of an older epoch, and what is next asked for of it goes by the mode of then and takes it over.
 *
 * @returns what the switch leaves in all
 */
export async function leaveRest(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: Pick<ClusterRow, 'id' | 'delivery_epoch'>,
): Promise<ObjectLeft[]> {
  const rest = await trx
    .selectFrom('mode_handovers')
    .select(['intent_id', 'target_kind', 'namespace', 'name', 'state', 'reason'])
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '=', cluster.delivery_epoch)
    .where('state', 'in', ['pending', 'refused'])
    .orderBy('target_kind')
    .orderBy('namespace')
    .orderBy('name')
    .execute();
  await trx
    .updateTable('mode_handovers')
    .set({ state: 'dropped' })
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '=', cluster.delivery_epoch)
    .where('state', '=', 'pending')
    .execute();
  return [
    ...objectsLeftOf(row),
    ...rest.map(({ intent_id: intentId, target_kind: kind, namespace, name, state, reason }) => ({
      kind,
      namespace,
      name,
      reason: `${row.from_mode} mode could not bring it again: ${reason ?? 'no reason is on record'}`,
      // Refused, it has ended already where it was under way.
      ...(state === 'pending' ? { intentId } : {}),
    })),
  ];
}

/** Intents of what was left that are still under way wait for the mode that the cluster is in now. */
export async function deliverAnew(trx: Kysely<Database>, left: readonly ObjectLeft[]): Promise<void> {
  for (const { intentId, reason } of left) {
    if (intentId !== undefined) await redeliverIntent(trx, intentId, `the switch of mode left its object: ${reason}`);
  }
}
