import { sql, type Kysely } from 'kysely';
import type { IntentMove, IntentSnapshot } from '../../events/ingest/ingest-store.ts';
import { moveIntents } from '../../events/ingest/move-intents.ts';
import { noteIntents, OF_CHANGED_INTENT } from './changes.ts';
import { recentEventsAbout } from './events.ts';
import type { Condition } from '../../protocol/condition.ts';
import type { AgentEvent, EventSource } from '../../protocol/event.ts';
import { Reason } from '../../resources/reasons.ts';
import { reportedWhen } from './reported-when.ts';
import type { Database, ResourceConditionRow } from './schema.ts';

/**
 * Those of the cluster's intents that are named, and of operations what cancels them or is cancelled by them. Ids in one
 * query: a post has at most 500 events, and SQLite's limit of variables is far above.
 */
export async function findIntentSnapshots(
  trx: Kysely<Database>,
  clusterId: string,
  ids: readonly string[],
): Promise<IntentSnapshot[]> {
  if (ids.length === 0) return [];
  const named = await snapshots(trx, clusterId).where('id', 'in', ids).execute();
  const runs = new Set(named.filter(({ action }) => action === 'operate').map(({ id, cancels }) => cancels ?? id));
  if (runs.size === 0) return named;
  const known = new Set(named.map(({ id }) => id));
  const sharers = await snapshots(trx, clusterId)
    .where((eb) => eb.or([eb('id', 'in', [...runs]), eb('cancels', 'in', [...runs])]))
    .execute();
  return [...named, ...sharers.filter(({ id }) => !known.has(id))];
}

function snapshots(trx: Kysely<Database>, clusterId: string) {
  return trx
    .selectFrom('intents')
    .select(['id', 'action', 'target_kind as kind', 'namespace', 'name', 'state', 'cancels'])
    .where('cluster_id', '=', clusterId);
}

/**
 * Writes what the cluster's reports made of its intents. Anything seen in the cluster was applied, so the first move sets
 * `applied_at` too, unless it says otherwise.
 */
export async function moveIntentRows(
  trx: Kysely<Database>,
  clusterId: string,
  at: string,
  moves: readonly IntentMove[],
): Promise<void> {
  for (const { id, state, reason, notApplied } of moves) {
    const moved = await trx
      .updateTable('intents')
      .set({ state, reason: reason ?? null })
      .$if(notApplied !== true, (query) => query.set({ applied_at: sql<string>`coalesce(applied_at, ${at})` }))
      .$if(state === 'ready', (query) => query.set({ ready_at: at }))
      .where('cluster_id', '=', clusterId)
      .where('id', '=', id)
      .returning(OF_CHANGED_INTENT)
      .execute();
    noteIntents(trx, moved);
  }
}

/**
 * Moves an intent whose receipt was just stored by what was reported of it before: the operator may have read Git before
 * the receipt was in the database, most of all when the control plane was killed in between.
 *
 * @param deliveryEpoch the cluster's
 */
export async function catchUpWithReports(
  trx: Kysely<Database>,
  clusterId: string,
  intentId: string,
  deliveryEpoch: number,
  at: string,
): Promise<void> {
  const intents = await findIntentSnapshots(trx, clusterId, [intentId]);
  const events: AgentEvent[] = [];
  for (const intent of intents) {
    const recent = await recentEventsAbout(trx, clusterId, intent);
    // What was reported long ago is no longer among the events; what it amounts to still is, and has been stable since.
    events.push(...(recent.length > 0 ? recent : await statusAbout(trx, clusterId, intent)));
  }
  const moves = moveIntents(intents, events, deliveryEpoch);
  if (moves.length > 0) await moveIntentRows(trx, clusterId, at, moves);
}

/** The API server itself has said that it took the intent's object, or its deletion. */
export async function noteApplied(trx: Kysely<Database>, intentId: string, at: string): Promise<void> {
  const applied = await trx
    .updateTable('intents')
    .set({ applied_at: at })
    .where('id', '=', intentId)
    .where('applied_at', 'is', null)
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, applied);
}

/**
 * The way back of a switch refused the intent for good. What the cluster has of it is of an older epoch, and nothing that
 * is reported of that moves the intent any more: one that was under way ends as any other that is refused. Ready, and what
 * a way forward refused, is left as it is: that the way back brings again.
 */
export async function endRefusedBack(
  trx: Kysely<Database>,
  intent: { readonly id: string; readonly delivery_epoch: number },
  end: { readonly state: 'failed' | 'superseded'; readonly reason: string },
): Promise<void> {
  const ended = await trx
    .updateTable('intents')
    .set(end)
    .where('id', '=', intent.id)
    .where('state', 'in', ['delivered', 'applied'])
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('mode_handovers')
          .innerJoin('mode_switches', 'mode_switches.id', 'mode_handovers.switch_id')
          .select('mode_handovers.intent_id')
          .where('mode_handovers.intent_id', '=', intent.id)
          .where('mode_handovers.epoch', '=', intent.delivery_epoch)
          .where('mode_handovers.state', '=', 'refused')
          .where('mode_switches.state', 'in', ['rolling-back', 'rolled-back']),
      ),
    )
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, ended);
}

/**
 * Nobody will report the end of what was not there. What was made of it, if a person deleted it by hand, stays: where the
 * operator has said so last, the intent says it too.
 */
export async function endAbsent(trx: Kysely<Database>, intentId: string): Promise<void> {
  const said = await trx
    .selectFrom('resource_conditions')
    .innerJoin('intents', (join) =>
      join
        .onRef('intents.cluster_id', '=', 'resource_conditions.cluster_id')
        .onRef('intents.target_kind', '=', 'resource_conditions.kind')
        .onRef('intents.namespace', '=', 'resource_conditions.namespace')
        .onRef('intents.name', '=', 'resource_conditions.name'),
    )
    .select(['resource_conditions.reason', 'resource_conditions.message'])
    .where('intents.id', '=', intentId)
    .where('resource_conditions.type', '=', 'Ready')
    .orderBy(reportedWhen('resource_conditions'), 'desc')
    .orderBy('resource_conditions.updated_at', 'desc')
    .executeTakeFirst();
  const isLeft = said?.reason === Reason.Orphaned;
  const ended = await trx
    .updateTable('intents')
    .set({ state: 'removed', ...(isLeft ? { reason: `${Reason.Orphaned}: ${said?.message ?? ''}` } : {}) })
    .where('id', '=', intentId)
    .where('action', '=', 'uninstall')
    .where('state', 'in', ['delivered', 'applied'])
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, ended);
}

/** Current status as far as it came from the intent, as one event. */
async function statusAbout(
  trx: Kysely<Database>,
  clusterId: string,
  intent: Pick<IntentSnapshot, 'id' | 'kind' | 'namespace' | 'name'>,
): Promise<AgentEvent[]> {
  const rows = await trx
    .selectFrom('resource_conditions')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', intent.kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .where('source', 'like', `%${JSON.stringify(intent.id)}%`)
    .execute();
  return rows.map(({ api_version: apiVersion, kind, namespace, name, ...row }) => ({
    eventKey: `status/${row.uid}/${row.type}`,
    kind: 'ConditionTransition',
    resourceRef: { apiVersion, kind, namespace, name },
    conditions: [{ type: row.type, status: row.status as Condition['status'], ...reasonOf(row) }],
    source: JSON.parse(row.source ?? '{}') as EventSource,
  }));
}

function reasonOf(row: Pick<ResourceConditionRow, 'reason' | 'message'>): Pick<Condition, 'reason' | 'message'> {
  return {
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.message === null ? {} : { message: row.message }),
  };
}
