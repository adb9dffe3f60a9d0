import type { Kysely } from 'kysely';
import type { ApprovalConfig } from '../../protocol/agent-config.ts';
import { namesIn } from '../cluster-settings.ts';
import type { ClusterRow, Database } from '../store/schema.ts';
import { joined, requirementIn } from './requirements.ts';
import { statementIsNeeded } from './statement-is-needed.ts';
import { unapprovedOf } from './unapproved.ts';

/** Most that a configuration carries: of what is under way those that end first, then of what failed. The rest follows when one has ended. */
const MAX_STATEMENTS = 64;

/**
 * What of the cluster needs an approval, and the statements that its objects do not carry: of what was approved by merging
 * its proposal, whose file was reviewed without it, and what was signed again after the object was delivered.
 * It is said also where there is nothing of it: to say nothing is to leave what was said before as it is.
 */
export async function projectApprovals(db: Kysely<Database>, cluster: ClusterRow): Promise<ApprovalConfig> {
  const namespaces = namesIn(cluster.approval_namespaces ?? '[]');
  const templates = await namesWithApproval(
    db,
    'operation_templates',
    cluster.organization_id,
    namesIn(cluster.allowed_operation_templates),
  );
  const entries = await namesWithApproval(
    db,
    'catalog_entries',
    cluster.organization_id,
    namesIn(cluster.allowed_catalog_entries),
  );
  const rows = await db
    .selectFrom('approvals')
    .innerJoin('intents', 'intents.id', 'approvals.intent_id')
    .select(['approvals.statement', 'intents.render_inputs'])
    .where('approvals.cluster_id', '=', cluster.id)
    .where('approvals.state', '=', 'approved')
    .where('approvals.statement', 'is not', null)
    .where(statementIsNeeded())
    .orderBy((eb) => eb.case().when('intents.state', '=', 'failed').then(1).else(0).end())
    .orderBy('approvals.statement_expires_at')
    .orderBy('approvals.id')
    .execute();
  const statements = rows
    .flatMap(({ statement, render_inputs: inputs }) =>
      statement === null || inputs?.includes(statement) === true ? [] : [statement],
    )
    .slice(0, MAX_STATEMENTS);
  const { pending, heldTemplates, heldEntries } = await unapprovedOf(db, cluster.id);
  return {
    namespaces,
    operation_templates: [...new Set([...templates, ...heldTemplates])],
    catalog_entries: [...new Set([...entries, ...heldEntries])],
    statements,
    pending,
  };
}

async function namesWithApproval(
  db: Kysely<Database>,
  table: 'operation_templates' | 'catalog_entries',
  organizationId: string,
  names: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom(table)
    .select(['name', 'approval'])
    .where('organization_id', '=', organizationId)
    .where('name', 'in', names)
    .where('approval', 'is not', null)
    .orderBy('name')
    .execute();
  return rows.flatMap(({ name, approval }) =>
    approval !== null && joined([requirementIn(approval)]) !== undefined ? [name] : [],
  );
}
