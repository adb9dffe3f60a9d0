import type { Kysely } from 'kysely';
import type { ClusterRow, Database, ModeSwitchRow } from '../store/schema.ts';
import { endCredentials, takeBackCredentials } from './credentials.ts';
import type { SwitchMove } from './decide-switch.ts';
import { fence, fenceBack } from './fence.ts';
import { endOldWork } from './fence-old-work.ts';
import { deliverAnew, leaveRest } from './leave-rest.ts';
import { beforeOf, objectsLeftOf } from './mode-switch.ts';
import { endSwitch, moveSwitch } from './switch-rows.ts';

/** Objects that a step names. */
const MAX_NAMED = 10;

/** Does what was decided of a switch, in the transaction of the decision, which holds the cluster's row. */
export async function carryOutMove(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  move: Exclude<SwitchMove, { readonly kind: 'over' | 'wait' }>,
  at: string,
): Promise<void> {
  switch (move.kind) {
    case 'probe': {
      const message = `${row.to_mode} mode is looked at while ${row.from_mode} mode goes on delivering`;
      await moveSwitch(trx, row, { state: 'probing', phase: 'probing' }, { at, message });
      return;
    }
    case 'fence':
      await fence(trx, row, cluster, { at, message: move.message });
      return;
    case 'hand-over':
      await beginHandOver(trx, row, cluster, move.endsOldWork, at);
      return;
    case 'confirm': {
      const message = `delivered by ${row.to_mode} mode; the operator has to report it`;
      await moveSwitch(trx, row, { state: 'confirming', phase: 'confirming' }, { at, message });
      return;
    }
    case 'activate': {
      const credentials = JSON.stringify(await endCredentials(trx, row, at));
      await endSwitch(trx, row, { state: 'active', reason: null, at, set: { credentials } });
      await deliverAnew(trx, objectsLeftOf(row));
      return;
    }
    case 'fence-back':
      await fenceBack(trx, row, cluster, { at, reason: move.reason });
      return;
    case 'go-on-back': {
      const credentials = JSON.stringify(await takeBackCredentials(trx, row, at));
      const set = { state: 'rolling-back', phase: 'fencing', reason: move.reason, credentials } as const;
      await moveSwitch(trx, row, set, { at, message: move.reason });
      return;
    }
    case 'roll-back':
      await endRolledBack(trx, row, cluster, move.reason, at);
  }
}

/** Nothing is held back any more. */
async function beginHandOver(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  endsOldWork: boolean,
  at: string,
): Promise<void> {
  const ended = endsOldWork ? await endOldWork(trx, cluster, cluster.delivery_epoch, at) : 0;
  await trx.updateTable('clusters').set({ delivery_held: 0 }).where('id', '=', cluster.id).execute();
  const isBack = row.state === 'rolling-back';
  const what = `${cluster.connectivity_mode} mode delivers what the cluster has`;
  const message = ended === 0 ? what : `${what}; jobs that did not end in time and were closed: ${ended}`;
  const before = { ...beforeOf(row), ...(isBack ? {} : { delivered: true }) };
  await moveSwitch(
    trx,
    row,
    { state: isBack ? row.state : 'handing-over', phase: 'handing-over', before: JSON.stringify(before) },
    { at, message },
  );
}

async function endRolledBack(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  why: string,
  at: string,
): Promise<void> {
  if (row.state === 'rolling-back') {
    const left = await leaveRest(trx, row, cluster);
    const set = { objects_left: JSON.stringify(left) };
    const names = left.slice(0, MAX_NAMED).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
    const more = left.length > MAX_NAMED ? ` and ${left.length - MAX_NAMED} more` : '';
    const message = left.length === 0 ? undefined : `${why}; left as they are: ${names.join(', ')}${more}`;
    await endSwitch(trx, row, { state: 'rolled-back', reason: row.reason ?? why, at, set, message });
    await deliverAnew(trx, left);
    return;
  }
  // It ends before anything was changed.
  const credentials = JSON.stringify(await takeBackCredentials(trx, row, at));
  await endSwitch(trx, row, { state: 'rolled-back', reason: why, at, set: { credentials } });
}
