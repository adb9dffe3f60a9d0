import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import { namesIn } from '../cluster-settings.ts';
import type { ClusterRow, Database, IntentRow } from '../store/schema.ts';

/** Records read at once: each may be large. */
const CHUNK = 100;
/** What the operator says of an object that nothing is written to for want of something in the cluster. */
const DENIED_THERE: readonly string[] = [Reason.NamespaceNotLabelled, Reason.NamespaceNotGranted];

type JudgedIntent = Pick<IntentRow, 'id' | 'target_kind' | 'namespace' | 'name'>;

/**
 * Why the cluster would refuse what is handed over, by the intent's id: its lists have changed since, or its admin has taken
 * back a namespace. The operator refuses such an object by every way, whatever was delivered of it before.
 */
export async function notAllowed(
  db: Kysely<Database>,
  cluster: ClusterRow,
  intents: readonly JudgedIntent[],
): Promise<ReadonlyMap<string, string>> {
  const namespaces = namesIn(cluster.allowed_namespaces);
  const found = new Map<string, string>();
  const denied = await deniedThere(db, cluster.id);
  const records = await recordsOf(db, intents);
  for (const intent of intents) {
    const why =
      notListed('namespace', intent.namespace, namespaces) ??
      recordNotListed(cluster, intent, records.get(intent.id)) ??
      denied.get(`${intent.target_kind}/${intent.namespace}/${intent.name}`);
    if (why !== undefined) found.set(intent.id, why);
  }
  return found;
}

function recordNotListed(
  cluster: ClusterRow,
  { target_kind: kind }: JudgedIntent,
  record: IntentRecord | undefined,
): string | undefined {
  if (record === undefined) return undefined;
  const { catalogEntry, operationTemplate } = record;
  if (kind !== OPERATION_KIND)
    return notListed('catalog entry', catalogEntry, namesIn(cluster.allowed_catalog_entries));
  return notListed('operation template', operationTemplate, namesIn(cluster.allowed_operation_templates));
}

function notListed(what: string, name: string | undefined, allowed: readonly string[]): string | undefined {
  if (name === undefined || allowed.includes(name)) return undefined;
  return `${what} ${name} is not allowed on this cluster any more; allowed: ${allowed.length === 0 ? 'none' : allowed.join(', ')}`;
}

async function recordsOf(db: Kysely<Database>, intents: readonly JudgedIntent[]): Promise<Map<string, IntentRecord>> {
  const records = new Map<string, IntentRecord>();
  for (let at = 0; at < intents.length; at += CHUNK) {
    const ids = intents.slice(at, at + CHUNK).map(({ id }) => id);
    const rows = await db.selectFrom('intents').select(['id', 'record']).where('id', 'in', ids).execute();
    for (const { id, record } of rows) records.set(id, parseExactJson(record) as IntentRecord);
  }
  return records;
}

async function deniedThere(db: Kysely<Database>, clusterId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('resource_conditions')
    .select(['kind', 'namespace', 'name', 'reason', 'message'])
    .where('cluster_id', '=', clusterId)
    .where('reason', 'in', DENIED_THERE)
    .execute();
  return new Map(
    rows.map(({ kind, namespace, name, reason, message }) => [
      `${kind}/${namespace}/${name}`,
      `${reason}: ${message ?? 'the cluster does not let the operator write there'}`,
    ]),
  );
}
