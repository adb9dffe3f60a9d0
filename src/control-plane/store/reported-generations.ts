import type { Kysely } from 'kysely';
import type { EventSource } from '../../protocol/event.ts';
import type { IntentTarget } from './intents.ts';
import type { Database, IntentRow, ReportedGenerationRow } from './schema.ts';

/** The generation to count on from, where the cluster has reported one that no intent here has; else 0. */
export async function reportedGenerationOf(db: Kysely<Database>, target: IntentTarget): Promise<number> {
  const row = await db
    .selectFrom('reported_generations')
    .select('generation')
    .where('cluster_id', '=', target.clusterId)
    .where('target_kind', '=', target.kind)
    .where('namespace', '=', target.namespace)
    .where('name', '=', target.name)
    .executeTakeFirst();
  return row?.generation ?? 0;
}

/** @returns whether it is news: a lower or equal generation of the object changes nothing */
export async function recordReportedGeneration(trx: Kysely<Database>, row: ReportedGenerationRow): Promise<boolean> {
  const result = await trx
    .insertInto('reported_generations')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['cluster_id', 'target_kind', 'namespace', 'name'])
        .doUpdateSet((eb) => ({
          generation: eb.ref('excluded.generation'),
          delivery_epoch: eb.ref('excluded.delivery_epoch'),
          intent_id: eb.ref('excluded.intent_id'),
          reported_at: eb.ref('excluded.reported_at'),
        }))
        .whereRef('excluded.generation', '>', 'reported_generations.generation'),
    )
    .returning('generation')
    .executeTakeFirst();
  return result !== undefined;
}

/** An intent, and the generation of its object that the cluster has reported and nobody here gave. */
export interface OvertakenIntent {
  readonly intent: IntentRow;
  readonly reported: Pick<ReportedGenerationRow, 'generation' | 'intent_id'>;
}

/**
 * Intents whose number the cluster has seen already, or one above it, from an intent that is not known here: what they ask
 * for would be taken for old. Oldest first.
 *
 * @param of the intents to look at: by their ids, or all of one object that are in one of `states`
 */
export async function overtakenIntents(
  db: Kysely<Database>,
  of:
    | { readonly ids: readonly string[] }
    | { readonly target: IntentTarget; readonly states: readonly IntentRow['state'][] },
): Promise<OvertakenIntent[]> {
  if ('ids' in of && of.ids.length === 0) return [];
  let query = db
    .selectFrom('intents')
    .innerJoin('reported_generations as reported', (join) =>
      join
        .onRef('reported.cluster_id', '=', 'intents.cluster_id')
        .onRef('reported.target_kind', '=', 'intents.target_kind')
        .onRef('reported.namespace', '=', 'intents.namespace')
        .onRef('reported.name', '=', 'intents.name')
        .onRef('reported.generation', '>=', 'intents.generation'),
    )
    .selectAll('intents')
    .select(['reported.generation as reported_generation', 'reported.intent_id as reported_intent_id'])
    .orderBy('intents.accepted_at')
    .orderBy('intents.generation');
  if ('ids' in of) {
    query = query.where('intents.id', 'in', of.ids).where('intents.state', '=', 'accepted');
  } else {
    const { clusterId, kind, namespace, name } = of.target;
    query = query
      .where('intents.cluster_id', '=', clusterId)
      .where('intents.target_kind', '=', kind)
      .where('intents.namespace', '=', namespace)
      .where('intents.name', '=', name)
      .where('intents.state', 'in', of.states);
  }
  const rows = await query.execute();
  return rows.map(({ reported_generation: generation, reported_intent_id: intentId, ...intent }) => ({
    intent,
    reported: { generation, intent_id: intentId },
  }));
}

/** Of `ids`, those that no intent of the cluster has. */
export async function unknownIntents(
  db: Kysely<Database>,
  clusterId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const known = await db
    .selectFrom('intents')
    .select('id')
    .where('cluster_id', '=', clusterId)
    .where('id', 'in', ids)
    .execute();
  const unknown = new Set(ids);
  for (const { id } of known) unknown.delete(id);
  return unknown;
}

/** Whether the cluster has reported an object of that name that came by no intent known here. */
export async function isReportedUnasked(
  db: Kysely<Database>,
  { clusterId, kind, namespace, name }: IntentTarget,
): Promise<boolean> {
  const rows = await db
    .selectFrom('resource_conditions')
    .select('source')
    .distinct()
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', kind)
    .where('namespace', '=', namespace)
    .where('name', '=', name)
    .execute();
  const ids = rows.map(({ source }) => (JSON.parse(source ?? '{}') as EventSource).intentId);
  if (ids.includes(undefined)) return true;
  const unknown = await unknownIntents(
    db,
    clusterId,
    ids.filter((id) => id !== undefined),
  );
  return unknown.size > 0;
}
