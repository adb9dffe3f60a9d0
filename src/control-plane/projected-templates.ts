import type { Kysely } from 'kysely';
import { isBuiltInTemplate } from '../operation-templates/built-in-templates.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';
import { refusal } from '../protocol/parse.ts';
import { namesIn } from './cluster-settings.ts';
import { clustersThatList, findDefinitions } from './store/operation-templates.ts';
import type { ClusterRow, Database } from './store/schema.ts';

/** Of all definitions of one cluster together, in bytes of their JSON: they stand in the status of its Cluster resource. */
export const MAX_PROJECTED_BYTES = 256 * 1024;

/** What an admin wrote of the templates of a cluster's list, as its operator gets it. */
export async function definitionsOf(
  db: Kysely<Database>,
  cluster: Pick<ClusterRow, 'organization_id' | 'allowed_operation_templates'>,
): Promise<OperationTemplateDefinition[]> {
  return await findDefinitions(db, cluster.organization_id, namesIn(cluster.allowed_operation_templates));
}

/**
 * Refuses a list of operation templates whose definitions together are more than a cluster can be told.
 *
 * @throws AppError `constraint_violated`
 */
export async function requireProjectable(
  db: Kysely<Database>,
  organizationId: string,
  names: readonly string[],
): Promise<void> {
  const bytes = bytesOf(await findDefinitions(db, organizationId, names));
  if (bytes <= MAX_PROJECTED_BYTES) return;
  const message = `the definitions of these have ${bytes} bytes together; a cluster takes at most ${MAX_PROJECTED_BYTES} (256 KiB): list fewer, or make them shorter`;
  throw refusal([{ path: '/allowedOperationTemplates', message, allowed: { maxBytes: MAX_PROJECTED_BYTES } }]);
}

/**
 * Refuses a definition that is more than the clusters which list it can be told beside the others that they list.
 *
 * @throws AppError `constraint_violated`
 */
export async function requireRoom(
  db: Kysely<Database>,
  organizationId: string,
  definition: OperationTemplateDefinition,
): Promise<void> {
  const { name } = definition;
  for (const { slug, allowed_operation_templates: list } of await clustersThatList(db, organizationId, name)) {
    const others = namesIn(list).filter((other) => other !== name);
    const bytes = bytesOf([definition, ...(await findDefinitions(db, organizationId, others))]);
    if (bytes <= MAX_PROJECTED_BYTES) continue;
    const message = `with this one cluster ${slug} would be told ${bytes} bytes of definitions; it takes at most ${MAX_PROJECTED_BYTES} (256 KiB): make it shorter, or take templates off the cluster's allowedOperationTemplates`;
    throw refusal([{ path: '', message, allowed: { maxBytes: MAX_PROJECTED_BYTES } }]);
  }
}

/** A list may name what is made later; until then nothing runs by it. */
export async function unknownTemplateWarnings(
  db: Kysely<Database>,
  organizationId: string,
  names: readonly string[],
): Promise<string[]> {
  const own = (await findDefinitions(db, organizationId, names)).map(({ name }) => name);
  const unknown = names.filter((name) => !isBuiltInTemplate(name) && !own.includes(name));
  return unknown.map(
    (name) =>
      `allowedOperationTemplates: there is no operation template ${name} yet, and nothing runs by it before it is made (servicectl templates put -f FILE)`,
  );
}

function bytesOf(definitions: readonly OperationTemplateDefinition[]): number {
  return definitions.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one), 'utf8'), 0);
}
