import type { Kysely, Updateable } from 'kysely';
import { appendAudit } from '../store/audit.ts';
import type { Database, ModeSwitchRow } from '../store/schema.ts';
import { noteChange } from '../store/changes.ts';
import { stepsOf, type SwitchStep } from './mode-switch.ts';

/** Steps that are kept: one that goes on for long is fenced anew now and then. */
const MAX_STEPS = 100;

export async function findSwitch(db: Kysely<Database>, id: string): Promise<ModeSwitchRow | undefined> {
  return await db.selectFrom('mode_switches').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The switch of a cluster that is not over; there is at most one. */
export async function openSwitchOf(db: Kysely<Database>, clusterId: string): Promise<ModeSwitchRow | undefined> {
  return await db.selectFrom('mode_switches').selectAll().where('open_for', '=', clusterId).executeTakeFirst();
}

/** Those that are not over, the oldest first. */
export async function openSwitchIds(db: Kysely<Database>): Promise<string[]> {
  const rows = await db
    .selectFrom('mode_switches')
    .select('id')
    .where('open_for', 'is not', null)
    .orderBy('requested_at')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** A cluster's switches, the newest first. */
export async function listSwitchesOf(db: Kysely<Database>, clusterId: string, limit: number): Promise<ModeSwitchRow[]> {
  return await db
    .selectFrom('mode_switches')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** Writes what a switch came to with its step. In a transaction that holds the cluster's row (`lockCluster`). */
export async function moveSwitch(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  to: Updateable<ModeSwitchRow> & Pick<ModeSwitchRow, 'state' | 'phase'>,
  { at, message }: Omit<SwitchStep, 'state'>,
): Promise<ModeSwitchRow> {
  const steps: SwitchStep[] = [...stepsOf(row), { state: to.state, at, message }];
  const kept = steps.length <= MAX_STEPS ? steps : [...steps.slice(0, 1), ...steps.slice(1 - MAX_STEPS)];
  noteChange(trx, {
    organizationId: row.organization_id,
    resource: 'clusters',
    id: row.cluster_id,
    clusterId: row.cluster_id,
  });
  return await trx
    .updateTable('mode_switches')
    .set({ ...to, phase_since: at, steps: JSON.stringify(kept) })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Nothing more becomes of it; audited. In a transaction that holds the cluster's row. */
export async function endSwitch(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  end: {
    readonly state: 'active' | 'rolled-back';
    readonly reason: string | null;
    readonly at: string;
    readonly set?: Updateable<ModeSwitchRow>;
    /** Of the step, where that says more than the reason. */
    readonly message?: string | undefined;
  },
): Promise<ModeSwitchRow> {
  const { state, reason, at } = end;
  const message = end.message ?? (state === 'active' ? `the cluster is in ${row.to_mode} mode` : (reason ?? ''));
  const set = { ...end.set, state, phase: 'over', reason, finished_at: at, open_for: null } as const;
  const ended = await moveSwitch(trx, row, set, { at, message });
  const how = state === 'active' ? 'done' : 'rolled back';
  await appendAudit(trx, {
    organizationId: row.organization_id,
    at,
    source: 'user',
    kind: 'ModeSwitch',
    clusterId: row.cluster_id,
    actor: row.cancelled_by ?? row.requested_by,
    summary: `switch ${row.id} from ${row.from_mode} to ${row.to_mode} ${how}`,
    ...(reason === null ? {} : { reason }),
  });
  return ended;
}
