import type { Kysely } from 'kysely';
import { clusterDirectory } from '../delivery/gitops/layout.ts';
import type { ProjectionTarget } from '../git/projection/projection-target.ts';
import { PROJECTIONS } from './store/organizations.ts';
import { hostedName } from './store/repositories.ts';
import type { ClusterRow, Database, OrganizationRow } from './store/schema.ts';

/** Where a cluster of the embedded host reads. A slug is unique in its organization only, and so is this name before it. */
export function projectionName(
  organization: Pick<OrganizationRow, 'name'>,
  { slug }: Pick<ClusterRow, 'slug'>,
): string {
  return `${hostedName(organization, PROJECTIONS)}/${slug}`;
}

/** Of the clusters with these ids, those whose directory is in an embedded repository. */
export async function projectionTargets(
  db: Kysely<Database>,
  clusterIds: readonly string[],
): Promise<ReadonlyMap<string, ProjectionTarget>> {
  if (clusterIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('clusters')
    .innerJoin('organizations', 'organizations.id', 'clusters.organization_id')
    .innerJoin('repositories', 'repositories.id', 'clusters.repository_id')
    .select(['clusters.id', 'slug', 'git_directory', 'clusters.organization_id', 'branch'])
    .select(['organizations.name as organization', 'repositories.name as repository'])
    .where('clusters.id', 'in', clusterIds)
    .where('connectivity_mode', '=', 'gitops')
    .where('embedded', '=', 1)
    .execute();
  return new Map(
    rows.map((row) => {
      const places = [row.git_directory, clusterDirectory('flat', row.slug), clusterDirectory('sharded', row.slug)];
      const target: ProjectionTarget = {
        name: projectionName({ name: row.organization }, row),
        organizationId: row.organization_id,
        repository: row.repository,
        branch: row.branch,
        directories: [...new Set(places.flatMap((place) => place ?? []))],
      };
      return [row.id, target];
    }),
  );
}

/** Names of the projections that some cluster may read. */
export async function wantedProjections(db: Kysely<Database>): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('clusters')
    .innerJoin('organizations', 'organizations.id', 'clusters.organization_id')
    .select(['slug', 'organizations.name'])
    .execute();
  return new Set(rows.map(({ name, slug }) => projectionName({ name }, { slug })));
}
