import type { Kysely } from 'kysely';
import type { AgentConfig, GitSourceConfig, ProjectedCatalogEntry } from '../../../protocol/agent-config.ts';
import { ChartSource, withoutCredentials } from '../../../protocol/chart.ts';
import { compileParser } from '../../../protocol/parse.ts';
import { projectApprovals } from '../../approvals/project-approvals.ts';
import { intervalsOf, namesIn, securityOf } from '../../cluster-settings.ts';
import { definitionsOf } from '../../projected-templates.ts';
import type { ClusterRow, Database } from '../../store/schema.ts';
import { findSigningKeyEndorsements, findSigningKeys, publicJwkOf } from '../../store/signing-keys.ts';
import type { Agent } from './authenticate.ts';

const parseChart = compileParser(ChartSource);

/**
 * The projection of an identity record: what `GET /api/agent/config` answers. The row must have been read before the rest,
 * as this does: a change in between raises the revision above the row's, and the operator asks again.
 */
export async function projectConfig(
  db: Kysely<Database>,
  { cluster, expiresAt, rotateAfter }: Pick<Agent, 'cluster' | 'expiresAt' | 'rotateAfter'>,
  git: GitSourceConfig | undefined,
): Promise<AgentConfig> {
  const keys = await findSigningKeys(db, cluster.id);
  const endorsements = await findSigningKeyEndorsements(db, cluster.id);
  const approvals = await projectApprovals(db, cluster);
  const definitions = await definitionsOf(db, cluster);
  return {
    cluster_id: cluster.id,
    allowed_namespaces: namesIn(cluster.allowed_namespaces),
    catalog_entries: await projectCatalog(db, cluster),
    operation_templates: namesIn(cluster.allowed_operation_templates),
    approvals,
    ...(definitions.length === 0 ? {} : { operation_template_definitions: definitions }),
    connectivity_mode: cluster.connectivity_mode,
    delivery_epoch: cluster.delivery_epoch,
    intervals: intervalsOf(cluster),
    security: securityOf(cluster),
    signing_public_keys: { keys: keys.map(publicJwkOf) },
    ...(endorsements.length === 0 ? {} : { signing_key_endorsements: endorsements }),
    credential: { expires_at: expiresAt, rotate_after: rotateAfter },
    ...(git === undefined ? {} : { git }),
    ...(cluster.desired_operator_version === null
      ? {}
      : { operator: { desired_version: cluster.desired_operator_version } }),
  };
}

/** The entries of the cluster's list that the catalog has. One that it has not is left out: nothing can match it. */
async function projectCatalog(db: Kysely<Database>, cluster: ClusterRow): Promise<ProjectedCatalogEntry[]> {
  const names = namesIn(cluster.allowed_catalog_entries);
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom('catalog_entries')
    .select(['name', 'chart', 'versions'])
    .where('organization_id', '=', cluster.organization_id)
    .where('name', 'in', names)
    .orderBy('name')
    .execute();
  return rows.map(({ name, chart, versions }) => ({
    entry: name,
    chart: withoutCredentials(parseChart(JSON.parse(chart))),
    versions,
  }));
}
