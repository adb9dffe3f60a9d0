import type { Kysely } from 'kysely';
import { clusterDirectory } from '../../delivery/gitops/layout.ts';
import type { Places, ProjectionTarget } from '../../git/projection/projection-target.ts';
import { layoutHistoryOf, layoutMoveOf, MAX_LAYOUT_HISTORY } from '../store/layout-moves.ts';
import { PROJECTIONS } from '../store/organizations.ts';
import { hostedName } from '../store/repositories.ts';
import type { ClusterRow, Database, OrganizationRow, RepositoryRow } from '../store/schema.ts';

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
    .select(['clusters.id', 'slug', 'repository_id', 'layout', 'clusters.organization_id', 'branch'])
    .select(['organizations.name as organization', 'repositories.name as repository'])
    .where('clusters.id', 'in', clusterIds)
    .where('connectivity_mode', '=', 'gitops')
    .where('embedded', '=', 1)
    .execute();
  return new Map(
    rows.map((row) => {
      const target: ProjectionTarget = {
        name: projectionName({ name: row.organization }, row),
        organizationId: row.organization_id,
        repository: row.repository,
        branch: row.branch,
        directory: clusterDirectory(row.layout, row.slug),
        places: async () => await placesOf(db, row),
      };
      return [row.id, target];
    }),
  );
}

/** Where a cluster's directory is in its repository's history, as far as the moves of its layout are on record. */
async function placesOf(
  db: Kysely<Database>,
  cluster: { readonly slug: string; readonly repository_id: string | null },
): Promise<Places> {
  const repository = await db
    .selectFrom('repositories')
    .select(['layout', 'layout_move', 'layout_history'])
    .where('id', '=', cluster.repository_id)
    .executeTakeFirstOrThrow();
  return placesIn(repository, cluster.slug);
}

export function placesIn(
  repository: Pick<RepositoryRow, 'layout' | 'layout_move' | 'layout_history'>,
  slug: string,
): Places {
  const history = layoutHistoryOf(repository);
  const at = (layout: RepositoryRow['layout']): string => clusterDirectory(layout, slug);
  const ended = history.map(({ id, commit, from, to }) => ({ id, commit, from: at(from), to: at(to) }));
  const wanted = layoutMoveOf(repository);
  // Of one whose layout holds only the rows of clusters are left to do.
  const isUnderWay = wanted !== undefined && wanted.to !== repository.layout;
  const underWay = isUnderWay
    ? [
        {
          id: wanted.id,
          commit: undefined,
          notBefore: wanted.requestedAt,
          from: at(repository.layout),
          to: at(wanted.to),
        },
      ]
    : [];
  return {
    now: at(repository.layout),
    moves: [...underWay, ...ended.toReversed()],
    ...(history.length >= MAX_LAYOUT_HISTORY ? { isCut: true } : {}),
  };
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
