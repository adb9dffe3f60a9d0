import type { Kysely } from 'kysely';
import type { IntentAction, IntentRecord } from '../../intent/intent-record.ts';
import { compileParser } from '../../protocol/parse.ts';
import { namesIn } from '../cluster-settings.ts';
import { RequiredApprovals, strictest } from '../git/git-settings.ts';
import type { Database } from '../store/schema.ts';

const parseRequired = compileParser(RequiredApprovals);

/** What everything in a namespace of the cluster's `approvalNamespaces` needs. */
const OF_NAMESPACE: RequiredApprovals = { count: 1 };

/** Of an intent, what decides whether it needs an approval. */
export interface ApprovalSubject {
  readonly organizationId: string;
  readonly clusterId: string;
  readonly record: {
    readonly action: IntentAction;
    readonly namespace: string;
    readonly catalogEntry?: string;
    readonly operationTemplate?: string;
    /** Where it has its effect, where that is another one. */
    readonly targetNamespace?: string;
    readonly targetRef?: { readonly namespace?: string };
    readonly cancel?: unknown;
  };
}

export function subjectOf(intent: {
  readonly organization_id: string;
  readonly cluster_id: string;
  readonly record: string;
}): ApprovalSubject {
  const { organization_id: organizationId, cluster_id: clusterId, record } = intent;
  return { organizationId, clusterId, record: JSON.parse(record) as IntentRecord };
}

/**
 * What intents need by the settings of now: the strictest of what their operation template, their catalog entry and the
 * namespace that they are in, or have their effect in, ask for. An uninstall needs what its namespace asks for alone, and to stop an operation needs nothing. A few
 * queries however many there are.
 *
 * @returns one for each subject; undefined: none
 */
export async function requirementsOf(
  db: Kysely<Database>,
  subjects: readonly ApprovalSubject[],
): Promise<(RequiredApprovals | undefined)[]> {
  if (subjects.length === 0) return [];
  const organizations = [...new Set(subjects.map(({ organizationId }) => organizationId))];
  const templates = await db
    .selectFrom('operation_templates')
    .select(['organization_id', 'name', 'approval'])
    .where('organization_id', 'in', organizations)
    .where('approval', 'is not', null)
    .execute();
  const entries = await db
    .selectFrom('catalog_entries')
    .select(['organization_id', 'name', 'approval'])
    .where('organization_id', 'in', organizations)
    .where('approval', 'is not', null)
    .execute();
  const clusters = await db
    .selectFrom('clusters')
    .select(['id', 'approval_namespaces'])
    .where('id', 'in', [...new Set(subjects.map(({ clusterId }) => clusterId))])
    .where('approval_namespaces', 'is not', null)
    .execute();
  const byTemplate = new Map(templates.map((row) => [`${row.organization_id} ${row.name}`, row.approval]));
  const byEntry = new Map(entries.map((row) => [`${row.organization_id} ${row.name}`, row.approval]));
  const namespaces = new Map(clusters.map((row) => [row.id, namesIn(row.approval_namespaces ?? '[]')]));
  return subjects.map(({ organizationId, clusterId, record }) => {
    if (record.cancel === true) return undefined;
    const { action, operationTemplate, catalogEntry } = record;
    const about = [record.namespace, record.targetNamespace, record.targetRef?.namespace];
    const isInstalled = action === 'install' || action === 'update';
    const named =
      action === 'operate'
        ? byTemplate.get(`${organizationId} ${operationTemplate ?? ''}`)
        : isInstalled
          ? byEntry.get(`${organizationId} ${catalogEntry ?? ''}`)
          : undefined;
    return joined([
      ...(typeof named === 'string' ? [parseRequired(JSON.parse(named))] : []),
      ...(about.some((name) => name !== undefined && namespaces.get(clusterId)?.includes(name) === true)
        ? [OF_NAMESPACE]
        : []),
    ]);
  });
}

/** @returns undefined where none of them asks for anybody */
export function joined(all: readonly (RequiredApprovals | undefined)[]): RequiredApprovals | undefined {
  let strict: RequiredApprovals | undefined;
  for (const one of all) {
    if (one === undefined || (one.count === 0 && Object.keys(one.roles ?? {}).length === 0)) continue;
    strict = strict === undefined ? one : strictest(strict, one);
  }
  return strict;
}

export function requirementIn(text: string): RequiredApprovals {
  return parseRequired(JSON.parse(text));
}
