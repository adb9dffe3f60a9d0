import type { Kysely } from 'kysely';
import type { Database, ModeHandoverRow, ModeSwitchRow } from '../store/schema.ts';

/** Objects of one switch that are named; their number is known beyond that. */
const MAX_NAMED = 100;

/** A cluster's switches, the newest first; at most `limit`, those before `before`. */
export async function switchPage(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly before: readonly [requestedAt: string, id: string] | undefined },
): Promise<ModeSwitchRow[]> {
  const { before } = page;
  let query = db
    .selectFrom('mode_switches')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit);
  if (before !== undefined) {
    const [requestedAt, id] = before;
    query = query.where((eb) =>
      eb.or([eb('requested_at', '<', requestedAt), eb.and([eb('requested_at', '=', requestedAt), eb('id', '<', id)])]),
    );
  }
  return await query.execute();
}

/** Of one cluster; another's is not found. */
export async function findSwitchOf(
  db: Kysely<Database>,
  clusterId: string,
  id: string,
): Promise<ModeSwitchRow | undefined> {
  const query = db.selectFrom('mode_switches').selectAll();
  return await query.where('cluster_id', '=', clusterId).where('id', '=', id).executeTakeFirst();
}

/** How far a switch is with the objects that it hands over under its present epoch. */
export interface HandoverCount {
  readonly total: number;
  readonly delivered: number;
  readonly confirmed: number;
}

export const NO_HANDOVERS: HandoverCount = { total: 0, delivered: 0, confirmed: 0 };

/** By the id of the switch; one that hands nothing over is not in it. What was dropped on the way is not counted. */
export async function handoverCounts(
  db: Kysely<Database>,
  switchIds: readonly string[],
): Promise<ReadonlyMap<string, HandoverCount>> {
  if (switchIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('mode_handovers')
    .innerJoin('mode_switches', (join) =>
      join
        .onRef('mode_switches.id', '=', 'mode_handovers.switch_id')
        .onRef('mode_switches.epoch', '=', 'mode_handovers.epoch'),
    )
    .select(['mode_handovers.switch_id as id', 'mode_handovers.state'])
    .select((eb) => eb.fn.countAll().as('count'))
    .where('mode_handovers.switch_id', 'in', switchIds)
    .groupBy(['mode_handovers.switch_id', 'mode_handovers.state'])
    .execute();
  const counts = new Map<string, HandoverCount>();
  for (const { id, state, count } of rows) {
    if (state === 'dropped') continue;
    const { total, delivered, confirmed } = counts.get(id) ?? NO_HANDOVERS;
    const [isDelivered, isConfirmed] = [state === 'delivered' || state === 'confirmed', state === 'confirmed'];
    const more = Number(count);
    counts.set(id, {
      total: total + more,
      delivered: delivered + (isDelivered ? more : 0),
      confirmed: confirmed + (isConfirmed ? more : 0),
    });
  }
  return counts;
}

/** What the new way, or on the way back the old one, would not take, under any epoch of the switch. */
export async function refusedHandovers(
  db: Kysely<Database>,
  switchId: string,
): Promise<Pick<ModeHandoverRow, 'target_kind' | 'namespace' | 'name' | 'reason'>[]> {
  return await db
    .selectFrom('mode_handovers')
    .select(['target_kind', 'namespace', 'name', 'reason'])
    .where('switch_id', '=', switchId)
    .where('state', '=', 'refused')
    .orderBy('namespace')
    .orderBy('name')
    .orderBy('epoch')
    .limit(MAX_NAMED)
    .execute();
}
