import { sql, type Kysely } from 'kysely';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import type { ApplicationHealth, ApplicationRow } from './application-row.ts';
import { beginsWith } from './match-text.ts';
import { reportedWhen } from './reported-when.ts';
import type { Database, IntentRow, ResourceConditionRow } from './schema.ts';

/** Which applications of an organization; what is left out does not matter. */
export interface ApplicationFilter {
  readonly organizationId: string;
  /** One of the organization's: then nothing else of the organization is looked at. */
  readonly clusterId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly catalogEntry?: string | undefined;
  readonly state?: ApplicationRow['state'] | undefined;
  readonly health?: ApplicationHealth | undefined;
  /** How its name begins. */
  readonly prefix?: string | undefined;
}

/** An application with its cluster's slug and what its newest intent says of itself. */
export type StoredApplication = Omit<ApplicationRow, 'health'> & {
  readonly health: ApplicationHealth | 'gone';
} & Pick<IntentRow, 'reason' | 'requested_by' | 'accepted_at'> & { readonly slug: string };

/** By cluster, namespace and name; by name first where a prefix of it is asked for, so that its index gives the order. */
export type ApplicationKey = readonly [cluster: string, namespace: string, name: string];

/** At most `limit`, those after `after`. What is gone is left out. */
export async function listApplications(
  db: Kysely<Database>,
  filter: ApplicationFilter,
  page: { readonly limit: number; readonly after: ApplicationKey | undefined },
): Promise<StoredApplication[]> {
  const { organizationId, clusterId, namespace, catalogEntry, state, health, prefix } = filter;
  let query = applications(db).where('applications.health', '<>', 'gone').limit(page.limit);
  query =
    clusterId === undefined
      ? query.where('applications.organization_id', '=', organizationId)
      : query.where('applications.cluster_id', '=', clusterId);
  if (namespace !== undefined) query = query.where('applications.namespace', '=', namespace);
  if (catalogEntry !== undefined) query = query.where('applications.catalog_entry', '=', catalogEntry);
  if (state !== undefined) query = query.where('applications.state', '=', state);
  if (health !== undefined) query = query.where('applications.health', '=', health);
  const { after } = page;
  if (prefix === undefined) {
    query = query.orderBy('applications.cluster_id').orderBy('applications.namespace').orderBy('applications.name');
    if (after !== undefined) {
      query = query.where(
        sql<boolean>`(applications.cluster_id, applications.namespace, applications.name) > (${sql.join(after)})`,
      );
    }
    return await query.execute();
  }
  query = query
    .where(beginsWith('applications.name', prefix))
    .orderBy('applications.name')
    .orderBy('applications.cluster_id')
    .orderBy('applications.namespace');
  if (after !== undefined) {
    const [cluster, inside, name] = after;
    query = query.where(
      sql<boolean>`(applications.name, applications.cluster_id, applications.namespace) > (${name}, ${cluster}, ${inside})`,
    );
  }
  return await query.execute();
}

/** One that is not gone. */
export async function findApplication(
  db: Kysely<Database>,
  [clusterId, namespace, name]: ApplicationKey,
): Promise<StoredApplication | undefined> {
  return await applications(db)
    .where('applications.cluster_id', '=', clusterId)
    .where('applications.namespace', '=', namespace)
    .where('applications.name', '=', name)
    .where('applications.health', '<>', 'gone')
    .executeTakeFirst();
}

function applications(db: Kysely<Database>) {
  return db
    .selectFrom('applications')
    .innerJoin('clusters', 'clusters.id', 'applications.cluster_id')
    .innerJoin('intents', 'intents.id', 'applications.intent_id')
    .selectAll('applications')
    .select(['clusters.slug', 'intents.reason', 'intents.requested_by', 'intents.accepted_at']);
}

/** What was last reported of it: of several objects that had its name, the one that was reported last. */
export async function conditionsOfApplication(
  db: Kysely<Database>,
  [clusterId, namespace, name]: ApplicationKey,
): Promise<ResourceConditionRow[]> {
  const rows = await db
    .selectFrom('resource_conditions')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', APPLICATION_INSTANCE_KIND)
    .where('namespace', '=', namespace)
    .where('name', '=', name)
    .orderBy(reportedWhen('resource_conditions'), 'desc')
    .orderBy('updated_at', 'desc')
    .execute();
  const uid = rows[0]?.uid;
  return rows.filter((row) => row.uid === uid).sort((a, b) => (a.type < b.type ? -1 : 1));
}
