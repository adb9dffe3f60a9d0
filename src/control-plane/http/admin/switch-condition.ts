import type { Kysely } from 'kysely';
import type { Condition } from '../../../protocol/condition.ts';
import { waitingFor } from '../../modes/waiting-for.ts';
import type { ClusterRow, Database, ModeSwitchRow } from '../../store/schema.ts';

/** Condition of a cluster that is being moved to another mode; there is none otherwise. */
export const SWITCHING = 'Switching';
/** The switch goes on. */
export const SWITCH_UNDER_WAY = 'SwitchUnderWay';
/** The switch goes back to the mode that the cluster had. */
export const SWITCH_ROLLING_BACK = 'SwitchRollingBack';

/** `Switching`, which the control plane alone writes: where a switch of mode is, and what it waits for. */
export async function switchCondition(
  db: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  now: Date,
): Promise<Condition> {
  const isBack = row.state === 'rolling-back';
  const waits = await waitingFor(db, row, cluster, now);
  const where = isBack
    ? `back from ${row.to_mode} to ${row.from_mode} (${row.phase}): ${row.reason ?? 'no reason is on record'}`
    : `from ${row.from_mode} to ${row.to_mode} (${row.phase})`;
  return {
    type: SWITCHING,
    status: 'True',
    reason: isBack ? SWITCH_ROLLING_BACK : SWITCH_UNDER_WAY,
    message: `${where}${waits === undefined ? '' : `; waiting for ${waits}`}; switch ${row.id}`,
    lastTransitionTime: row.phase_since,
  };
}
