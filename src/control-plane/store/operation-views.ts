import { sql, type Kysely } from 'kysely';
import { OPERATION_KIND } from '../../resources/operation.ts';
import type { Database, IntentRow, ResourceConditionRow } from './schema.ts';

/** An operation that was asked for here, with what the cluster told of it. */
export interface StoredOperation {
  /** What asked for it. */
  readonly intent: IntentRow;
  readonly slug: string;
  /** What cancels it, the newest first. */
  readonly cancellations: readonly IntentRow[];
  readonly conditions: readonly ResourceConditionRow[];
}

/** Those of a cluster, the newest first; at most `limit`, those asked for before `before`. */
export async function listOperations(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly before: readonly [acceptedAt: string, id: string] | undefined },
): Promise<StoredOperation[]> {
  const { limit, before } = page;
  let query = operations(db)
    .where('intents.cluster_id', '=', clusterId)
    .orderBy('intents.accepted_at', 'desc')
    .orderBy('intents.id', 'desc')
    .limit(limit);
  if (before !== undefined) {
    const [at, id] = before;
    query = query.where((eb) =>
      eb.or([
        eb('intents.accepted_at', '<', at),
        eb.and([eb('intents.accepted_at', '=', at), eb('intents.id', '<', id)]),
      ]),
    );
  }
  return await withReports(db, await query.execute());
}

/** By its intent, or one that cancels it; of one organization. */
export async function findOperation(
  db: Kysely<Database>,
  organizationId: string,
  intentId: string,
): Promise<StoredOperation | undefined> {
  const named = await db
    .selectFrom('intents')
    .select('cancels')
    .where('id', '=', intentId)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  if (named === undefined) return undefined;
  const rows = await operations(db)
    .where('intents.id', '=', named.cancels ?? intentId)
    .execute();
  return (await withReports(db, rows))[0];
}

function operations(db: Kysely<Database>) {
  return db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .selectAll('intents')
    .select('clusters.slug')
    .where('intents.target_kind', '=', OPERATION_KIND)
    .where('intents.cancels', 'is', null);
}

/** Columns of VALUES have these names in SQLite and PostgreSQL alike. */
interface NamedObject {
  readonly column1: string;
  readonly column2: string;
  readonly column3: string;
}

/** Two queries for a whole page, which may be of several clusters. */
export async function withReports(
  db: Kysely<Database>,
  rows: readonly (IntentRow & { readonly slug: string })[],
): Promise<StoredOperation[]> {
  if (rows.length === 0) return [];
  const cancelling = await db
    .selectFrom('intents')
    .selectAll()
    .where(
      'cancels',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('generation', 'desc')
    .execute();
  // One seek in the index for each: lists of names and of clusters would be tried in every combination.
  const wanted = sql.join(rows.map((row) => sql`(${row.cluster_id}, ${row.namespace}, ${row.name})`));
  const told = await db
    .selectFrom('resource_conditions')
    .selectAll('resource_conditions')
    .innerJoin(sql<NamedObject>`(VALUES ${wanted})`.as('wanted'), (join) =>
      join
        .onRef('resource_conditions.cluster_id', '=', 'wanted.column1')
        .onRef('resource_conditions.namespace', '=', 'wanted.column2')
        .onRef('resource_conditions.name', '=', 'wanted.column3'),
    )
    .where('resource_conditions.kind', '=', OPERATION_KIND)
    .orderBy('type')
    .execute();
  return rows.map(({ slug, ...intent }) => {
    const cancellations = cancelling.filter(({ cancels }) => cancels === intent.id);
    const ids = [intent, ...cancellations].map(({ id }) => JSON.stringify(id));
    const isOf = ({ cluster_id: clusterId, namespace, name, source }: ResourceConditionRow): boolean =>
      clusterId === intent.cluster_id &&
      namespace === intent.namespace &&
      name === intent.name &&
      ids.some((id) => source?.includes(id) === true);
    return { intent, slug, cancellations, conditions: told.filter(isOf) };
  });
}

/** Types of condition that an operation ends with. */
const ENDS: readonly string[] = ['Succeeded', 'Failed', 'Cancelled'];

/** The condition that an operation ended with. */
export function endOf(conditions: readonly ResourceConditionRow[]): ResourceConditionRow | undefined {
  return conditions.find(({ type, status }) => status === 'True' && ENDS.includes(type));
}

/** How an operation ended, in words; undefined where it has not, as far as is known here. */
export async function howItEnded(db: Kysely<Database>, intent: IntentRow): Promise<string | undefined> {
  const [operation] = await withReports(db, [{ ...intent, slug: '' }]);
  const end = endOf(operation?.conditions ?? []);
  if (end !== undefined) {
    const why = [end.type, end.reason, end.message].filter((part) => part !== null && part !== '').join(': ');
    return end.last_transition_time === null ? why : `${why} (${end.last_transition_time})`;
  }
  const { state, reason, applied_at: appliedAt } = intent;
  const words = reason === null ? state : `${state}, ${reason}`;
  if (state === 'ready' || state === 'removed' || state === 'superseded') return words;
  return state === 'failed' && appliedAt === null ? `it never came to its cluster: ${words}` : undefined;
}
