import type { Kysely } from 'kysely';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { OperationTemplateDefinition } from '../../protocol/operation-template.ts';
import type { RequiredApprovals } from '../git/git-settings.ts';
import type { Database, OperationTemplateRow } from './schema.ts';

/** What an admin wrote of an operation template, its JSON columns read. */
export interface StoredOperationTemplate {
  readonly definition: OperationTemplateDefinition;
  /** Absent: its operations need none. */
  readonly approval?: RequiredApprovals;
  readonly updatedAt: string;
}

/** Stores it, in place of one of that name. Answers false when it was the same already. */
export async function putOperationTemplate(
  trx: Kysely<Database>,
  organizationId: string,
  { definition, approval, updatedAt }: StoredOperationTemplate,
): Promise<boolean> {
  const content = {
    definition: JSON.stringify(definition),
    approval: approval === undefined ? null : JSON.stringify(approval),
  };
  const before = await templateRow(trx, organizationId, definition.name);
  if (before !== undefined && before.definition === content.definition && before.approval === content.approval) {
    return false;
  }
  await trx
    .insertInto('operation_templates')
    .values({ organization_id: organizationId, name: definition.name, ...content, updated_at: updatedAt })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'name']).doUpdateSet({ ...content, updated_at: updatedAt }),
    )
    .execute();
  return true;
}

/** @returns whether there was one */
export async function deleteOperationTemplate(
  trx: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<boolean> {
  const deleted = await trx
    .deleteFrom('operation_templates')
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst();
  return deleted.numDeletedRows > 0n;
}

export async function findOperationTemplate(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<StoredOperationTemplate | undefined> {
  const row = await templateRow(db, organizationId, name);
  return row === undefined ? undefined : readTemplate(row);
}

/** By name; at most `limit`, those after the name `after`. */
export async function listOperationTemplates(
  db: Kysely<Database>,
  organizationId: string,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<StoredOperationTemplate[]> {
  const { limit, after } = page;
  const rows = await db
    .selectFrom('operation_templates')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .$if(after !== undefined, (query) => query.where('name', '>', after ?? ''))
    .orderBy('name')
    .limit(limit)
    .execute();
  return rows.map(readTemplate);
}

/** Names of all that an organization wrote something of. */
export async function operationTemplateNames(db: Kysely<Database>, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('operation_templates')
    .select('name')
    .where('organization_id', '=', organizationId)
    .orderBy('name')
    .execute();
  return rows.map(({ name }) => name);
}

/** Those among `names` that there are, by name. */
export async function findDefinitions(
  db: Kysely<Database>,
  organizationId: string,
  names: readonly string[],
): Promise<OperationTemplateDefinition[]> {
  if (names.length === 0) return [];
  const rows = await db
    .selectFrom('operation_templates')
    .select('definition')
    .where('organization_id', '=', organizationId)
    .where('name', 'in', names)
    .orderBy('name')
    .execute();
  return rows.map(({ definition }) => readDefinition(definition));
}

/** Slugs of the clusters whose list has the name, with their lists. */
export async function clustersThatList(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<{ readonly slug: string; readonly allowed_operation_templates: string }[]> {
  return await db
    .selectFrom('clusters')
    .select(['slug', 'allowed_operation_templates'])
    .where('organization_id', '=', organizationId)
    // A name holds neither quotes nor what LIKE reads as more than itself.
    .where('allowed_operation_templates', 'like', `%"${name}"%`)
    .orderBy('slug')
    .execute();
}

/** Raises the configuration's revision of the clusters whose list has the name. @returns their ids */
export async function raiseRevisionsThatList(
  trx: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<string[]> {
  const rows = await trx
    .updateTable('clusters')
    .set((eb) => ({ config_revision: eb('config_revision', '+', 1) }))
    .where('organization_id', '=', organizationId)
    .where('allowed_operation_templates', 'like', `%"${name}"%`)
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

async function templateRow(
  db: Kysely<Database>,
  organizationId: string,
  name: string,
): Promise<OperationTemplateRow | undefined> {
  return await db
    .selectFrom('operation_templates')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst();
}

function readTemplate(row: OperationTemplateRow): StoredOperationTemplate {
  return {
    definition: readDefinition(row.definition),
    ...(row.approval === null ? {} : { approval: JSON.parse(row.approval) as RequiredApprovals }),
    updatedAt: row.updated_at,
  };
}

/** Of the column `definition`. */
export function readDefinition(json: string): OperationTemplateDefinition {
  return parseExactJson(json) as OperationTemplateDefinition;
}
