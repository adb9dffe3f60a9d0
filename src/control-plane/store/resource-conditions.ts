import type { Kysely } from 'kysely';
import type { FoldedCondition } from '../../events/ingest/ingest-store.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Database, ResourceConditionRow } from './schema.ts';

const COLUMNS = [
  'cluster_id',
  'uid',
  'type',
  'api_version',
  'kind',
  'namespace',
  'name',
  'status',
  'reason',
  'message',
  'last_transition_time',
  'generation',
  'order_key',
  'source',
  'updated_at',
] as const satisfies readonly (keyof ResourceConditionRow)[];

const REPLACED = COLUMNS.filter((column) => column !== 'cluster_id' && column !== 'uid' && column !== 'type');

const upsertLater = bulkInsert<ResourceConditionRow, Pick<ResourceConditionRow, 'uid' | 'type'>>(COLUMNS, (trx, rows) =>
  trx
    .insertInto('resource_conditions')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['cluster_id', 'uid', 'type'])
        .doUpdateSet((eb) => Object.fromEntries(REPLACED.map((column) => [column, eb.ref(`excluded.${column}`)])))
        // By the events' own order, never by arrival: a late old event leaves the row as it is and is not returned.
        .whereRef('excluded.order_key', '>', 'resource_conditions.order_key'),
    )
    .returning(['uid', 'type']),
);

/** Puts conditions in place unless a later one is there (`IngestStore.foldConditions`). */
export async function foldConditions(
  trx: Kysely<Database>,
  clusterId: string,
  at: string,
  conditions: readonly FoldedCondition[],
): Promise<FoldedCondition[]> {
  const rows = conditions.map(({ uid, event, condition, orderKey }): ResourceConditionRow => ({
    cluster_id: clusterId,
    uid,
    type: condition.type,
    api_version: event.resourceRef.apiVersion,
    kind: event.resourceRef.kind,
    namespace: event.resourceRef.namespace ?? '',
    name: event.resourceRef.name,
    status: condition.status,
    reason: condition.reason ?? null,
    message: condition.message ?? null,
    last_transition_time: condition.lastTransitionTime ?? null,
    generation: event.resourceRef.generation ?? null,
    order_key: orderKey,
    source: event.source === undefined ? null : JSON.stringify(event.source),
    updated_at: at,
  }));
  const placed = await upsertLater.run(trx, rows);
  const current = new Set(placed.map(({ uid, type }) => `${type}\n${uid}`));
  return conditions.filter(({ uid, condition }) => current.has(`${condition.type}\n${uid}`));
}

/** Current status of a cluster's resources, of one kind where it is given. */
export async function listConditions(
  db: Kysely<Database>,
  clusterId: string,
  kind?: string,
): Promise<ResourceConditionRow[]> {
  return await db
    .selectFrom('resource_conditions')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? ''))
    .orderBy('kind')
    .orderBy('namespace')
    .orderBy('name')
    .orderBy('type')
    .execute();
}
