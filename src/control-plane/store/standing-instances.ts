import { sql, type ExpressionBuilder, type Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import type { Database } from './schema.ts';

/** An application as its newest intent that reached its cluster left it. */
export interface StandingInstance {
  readonly cluster: { readonly id: string; readonly slug: string };
  readonly namespace: string;
  readonly name: string;
  readonly catalogEntry: string;
  /** Of the chart; absent where the intent named none. */
  readonly version?: string;
}

export type InstanceKey = readonly [clusterId: string, namespace: string, name: string];

/** Whose instances: of one entry, of one cluster, or of both. */
export interface InstancesOf {
  readonly organizationId: string;
  readonly catalogEntry?: string;
  readonly clusterId?: string;
}

/**
 * Instances that stand, by cluster id, namespace and name; at most `limit`, those after `after`. An intent counts from its
 * delivery on, and one that failed where it was applied before it did. An uninstall takes its object away as soon as it is
 * delivered.
 */
export async function listStandingInstances(
  db: Kysely<Database>,
  { organizationId, catalogEntry, clusterId }: InstancesOf,
  page: { readonly limit: number; readonly after?: InstanceKey | undefined },
): Promise<StandingInstance[]> {
  let query = db
    .selectFrom('intents as standing')
    .innerJoin('clusters', 'clusters.id', 'standing.cluster_id')
    .select(['clusters.slug', 'standing.cluster_id', 'standing.namespace', 'standing.name', 'standing.record'])
    .where('standing.organization_id', '=', organizationId)
    .where('standing.target_kind', '=', APPLICATION_INSTANCE_KIND)
    .where('standing.catalog_entry', 'is not', null)
    .where('standing.state', '<>', 'removed')
    .where(hasReached('standing'))
    .where((eb) => eb.not(isFollowed(eb)))
    .orderBy('standing.cluster_id')
    .orderBy('standing.namespace')
    .orderBy('standing.name')
    .limit(page.limit);
  if (catalogEntry !== undefined) query = query.where('standing.catalog_entry', '=', catalogEntry);
  if (clusterId !== undefined) query = query.where('standing.cluster_id', '=', clusterId);
  if (page.after !== undefined) {
    const [cluster, namespace, name] = page.after;
    query = query.where(
      sql<boolean>`(standing.cluster_id, standing.namespace, standing.name) > (${cluster}, ${namespace}, ${name})`,
    );
  }
  return (await query.execute()).map(({ slug, cluster_id: id, namespace, name, record }) => {
    const { catalogEntry: entry = '', chartVersion } = JSON.parse(record) as IntentRecord;
    const version = chartVersion === undefined ? {} : { version: chartVersion };
    return { cluster: { id, slug }, namespace, name, catalogEntry: entry, ...version };
  });
}

export interface InstanceName {
  readonly clusterId: string;
  readonly namespace: string;
  readonly name: string;
}

/** What an intent says of an instance. */
export interface PresentInstance extends InstanceName {
  readonly catalogEntry?: string;
  readonly targetNamespace?: string;
}

/** Of each of the instances: what the newest intent of it that reached its cluster says, and those after it that may yet. */
export async function presentInstances(
  db: Kysely<Database>,
  names: readonly InstanceName[],
): Promise<PresentInstance[]> {
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom('intents as standing')
    .select(['standing.cluster_id', 'standing.namespace', 'standing.name', 'standing.record'])
    .where('standing.target_kind', '=', APPLICATION_INSTANCE_KIND)
    .where('standing.catalog_entry', 'is not', null)
    .where('standing.cluster_id', 'in', [...new Set(names.map(({ clusterId }) => clusterId))])
    .where('standing.namespace', 'in', [...new Set(names.map(({ namespace }) => namespace))])
    .where('standing.name', 'in', [...new Set(names.map(({ name }) => name))])
    .where((eb) => eb.or([eb('standing.state', 'in', ['accepted', 'proposed']), hasReached('standing')]))
    .where((eb) => eb.not(isFollowed(eb)))
    .execute();
  return rows.map(({ cluster_id: clusterId, namespace, name, record }) => {
    const { catalogEntry, targetNamespace } = JSON.parse(record) as IntentRecord;
    return {
      clusterId,
      namespace,
      name,
      ...(catalogEntry === undefined ? {} : { catalogEntry }),
      ...(targetNamespace === undefined ? {} : { targetNamespace }),
    };
  });
}

/** A newer intent of the instance has reached the cluster. */
function isFollowed(eb: ExpressionBuilder<Database & { standing: Database['intents'] }, 'standing'>) {
  return eb.exists(
    eb
      .selectFrom('intents as newer')
      .select('newer.id')
      .whereRef('newer.cluster_id', '=', 'standing.cluster_id')
      .whereRef('newer.target_kind', '=', 'standing.target_kind')
      .whereRef('newer.namespace', '=', 'standing.namespace')
      .whereRef('newer.name', '=', 'standing.name')
      .whereRef('newer.generation', '>', 'standing.generation')
      .where(hasReached('newer')),
  );
}

function hasReached(alias: 'standing' | 'newer') {
  const [state, appliedAt] = [sql.ref(`${alias}.state`), sql.ref(`${alias}.applied_at`)];
  return sql<boolean>`(${state} IN ('delivered', 'applied', 'ready', 'removed') OR ${appliedAt} IS NOT NULL)`;
}

/** What keeps an entry from being deleted. */
export interface EntryUse {
  /** Slugs of clusters that list it. */
  readonly clusters: readonly string[];
  readonly instances: readonly StandingInstance[];
  /** Ids of intents of it that are not delivered yet. */
  readonly intents: readonly string[];
}

/** At most `limit` of each. */
export async function findEntryUse(
  db: Kysely<Database>,
  organizationId: string,
  entry: string,
  limit: number,
): Promise<EntryUse> {
  const clusters = await db
    .selectFrom('clusters')
    .select('slug')
    .where('organization_id', '=', organizationId)
    // A JSON list of names, which hold no quotes.
    .where('allowed_catalog_entries', 'like', `%"${entry}"%`)
    .orderBy('slug')
    .limit(limit)
    .execute();
  const instances = await listStandingInstances(db, { organizationId, catalogEntry: entry }, { limit });
  const waiting = await db
    .selectFrom('intents')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('catalog_entry', '=', entry)
    .where('state', 'in', ['accepted', 'proposed'])
    .orderBy('id')
    .limit(limit)
    .execute();
  return { clusters: clusters.map(({ slug }) => slug), instances, intents: waiting.map(({ id }) => id) };
}
