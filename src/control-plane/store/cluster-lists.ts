import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { LabelRequirement } from '../label-selector.ts';
import { hasHealth, type ClusterHealth } from './cluster-health.ts';
import { containsText } from './match-text.ts';
import type { ClusterRow, Database } from './schema.ts';

/** Which clusters of an organization; what is left out does not matter. */
export interface ClusterFilter {
  readonly organizationId: string;
  /** A part of the slug or of the display name, in any case. */
  readonly text?: string | undefined;
  readonly labels?: readonly LabelRequirement[] | undefined;
  readonly mode?: ClusterRow['connectivity_mode'] | undefined;
  readonly status?: ClusterRow['status'] | 'Disabled' | undefined;
  readonly health?: ClusterHealth | undefined;
}

/** By slug; at most `limit`, those after the slug `after`. */
export async function findClusters(
  db: Kysely<Database>,
  filter: ClusterFilter,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<ClusterRow[]> {
  let query = withClusters(db.selectFrom('clusters'), filter).selectAll('clusters').orderBy('slug').limit(page.limit);
  if (page.after !== undefined) query = query.where('slug', '>', page.after);
  return await query.execute();
}

/** The filter on a query that has `clusters`. */
export function withClusters<O>(
  from: SelectQueryBuilder<Database, 'clusters', O>,
  { organizationId, text, labels = [], mode, status, health }: ClusterFilter,
): SelectQueryBuilder<Database, 'clusters', O> {
  let query = from.where('clusters.organization_id', '=', organizationId);
  if (text !== undefined) {
    query = query.where((eb) =>
      eb.or([containsText('clusters.slug', text), containsText('clusters.display_name', text)]),
    );
  }
  for (const requirement of labels) query = query.where(hasLabel(organizationId, requirement));
  if (mode !== undefined) query = query.where('clusters.connectivity_mode', '=', mode);
  if (status === 'Disabled') query = query.where('clusters.disabled_at', 'is not', null);
  else if (status !== undefined) {
    query = query.where('clusters.status', '=', status).where('clusters.disabled_at', 'is', null);
  }
  return health === undefined ? query : query.where(hasHealth(organizationId, health));
}

function hasLabel(organizationId: string, requirement: LabelRequirement) {
  const { kind, name } = requirement;
  const values =
    'values' in requirement
      ? sql` AND value IN (${sql.join(requirement.values.map((value) => sql`${value}`))})`
      : sql``;
  const named = sql`(SELECT cluster_id FROM cluster_labels
    WHERE organization_id = ${organizationId} AND name = ${name}${values})`;
  return kind === 'in' || kind === 'exists'
    ? sql<boolean>`clusters.id IN ${named}`
    : sql<boolean>`clusters.id NOT IN ${named}`;
}
