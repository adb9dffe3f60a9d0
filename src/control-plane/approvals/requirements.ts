import type { Kysely } from 'kysely';
import { compileParser } from '../../protocol/parse.ts';
import { namesIn } from '../cluster-settings.ts';
import { RequiredApprovals, strictest } from '../git/git-settings.ts';
import { readDefinition } from '../store/operation-templates.ts';
import type { Database } from '../store/schema.ts';
import { effectsOf, type ApprovalSubject } from './effects.ts';

const parseRequired = compileParser(RequiredApprovals);

/** What everything in a namespace of the cluster's `approvalNamespaces` needs. */
const OF_NAMESPACE: RequiredApprovals = { count: 1 };

/**
 * What intents need by the settings of now: the strictest of what their operation template, their catalog entry (that of the
 * application too which an operation takes to a version or values of its choice) and the namespaces that they are in, or
 * have their effect in, ask for. An uninstall needs what its namespaces ask for alone, and to stop an operation needs nothing.
 * A few queries however many there are.
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
    .select(['organization_id', 'name', 'approval', 'definition'])
    .where('organization_id', 'in', organizations)
    .where('name', 'in', [...new Set(subjects.map(({ record }) => record.operationTemplate ?? ''))])
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
  const written = Map.groupBy(templates, (row) => row.organization_id);
  const definitions = new Map(
    [...written].map(([id, rows]) => [id, rows.map(({ definition }) => readDefinition(definition))]),
  );
  const effects = await effectsOf(db, subjects, (organizationId) => definitions.get(organizationId) ?? []);
  return subjects.map(({ organizationId, clusterId, record }, index) => {
    if (record.cancel === true) return undefined;
    const { namespaces: about = [], catalogEntries = [] } = effects[index] ?? {};
    const named = [
      record.action === 'operate' ? byTemplate.get(`${organizationId} ${record.operationTemplate ?? ''}`) : undefined,
      ...catalogEntries.map((name) => byEntry.get(`${organizationId} ${name}`)),
    ];
    return joined([
      ...named.flatMap((text) => (typeof text === 'string' ? [parseRequired(JSON.parse(text))] : [])),
      ...(about.some((name) => namespaces.get(clusterId)?.includes(name) === true) ? [OF_NAMESPACE] : []),
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
