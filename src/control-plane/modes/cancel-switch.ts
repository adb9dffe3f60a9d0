import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import { appendAudit } from '../store/audit.ts';
import { lockCluster } from '../store/lock-cluster.ts';
import type { Database, ModeSwitchRow } from '../store/schema.ts';
import { isOver } from './mode-switch.ts';
import { findSwitch } from './switch-rows.ts';

/**
 * Has a switch go back; the loop does it. One that is going back already goes on with it. Notify `MODES_TOPIC` after the
 * commit.
 *
 * @throws AppError `conflict` when it is over, `not_found`
 */
export async function cancelSwitch(
  trx: Kysely<Database>,
  { switchId, cancelledBy, at }: { readonly switchId: string; readonly cancelledBy: string; readonly at: string },
): Promise<ModeSwitchRow> {
  const found = await findSwitch(trx, switchId);
  // Read again once nobody else moves it.
  if (found !== undefined) await lockCluster(trx, found.cluster_id);
  const row = await findSwitch(trx, switchId);
  if (row === undefined) throw new AppError('not_found', `there is no switch ${switchId}`);
  if (isOver(row)) {
    const how = row.state === 'active' ? 'is done' : 'was rolled back';
    throw new AppError('conflict', `the switch ${row.id} ${how} at ${row.finished_at}; there is nothing to cancel`);
  }
  if (row.state === 'rolling-back' || row.cancelled_by !== null) return row;
  await appendAudit(trx, {
    organizationId: row.organization_id,
    at,
    source: 'user',
    kind: 'ModeSwitch',
    clusterId: row.cluster_id,
    actor: cancelledBy,
    summary: `switch ${row.id} from ${row.from_mode} to ${row.to_mode} cancelled while it was ${row.state}`,
  });
  return await trx
    .updateTable('mode_switches')
    .set({ cancelled_by: cancelledBy })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}
