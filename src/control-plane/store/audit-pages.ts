import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { AuditRow, Database } from './schema.ts';

export interface AuditFilter {
  readonly organizationId: string;
  readonly clusterId: string | undefined;
  readonly source: AuditRow['source'] | undefined;
  readonly kind: string | undefined;
  readonly actor: string | undefined;
  /** Those that name it, and acts whose text does. */
  readonly intentId: string | undefined;
  /** RFC 3339 in UTC with milliseconds. */
  readonly since: string | undefined;
  /** Not including it. */
  readonly until: string | undefined;
  /** Part of the summary or the reason, whatever its case. */
  readonly text: string | undefined;
  /** What a report is about; without a namespace: in any. */
  readonly resource: { readonly kind: string; readonly namespace?: string; readonly name: string } | undefined;
}

/** Audit entries of one organization, the newest first; at most `limit`, those before the entry `before`. */
export async function listAudit(
  db: Kysely<Database>,
  filter: AuditFilter,
  page: { readonly limit: number; readonly before: number | undefined },
): Promise<(Omit<AuditRow, 'id'> & { readonly id: number; readonly cluster_slug: string | null })[]> {
  const { organizationId, clusterId, source, kind, actor, intentId, since, until, text, resource } = filter;
  let query = db
    .selectFrom('audit')
    .selectAll()
    .select((eb) =>
      eb.selectFrom('clusters').select('slug').whereRef('clusters.id', '=', 'audit.cluster_id').as('cluster_slug'),
    )
    .where('organization_id', '=', organizationId)
    .orderBy('id', 'desc')
    .limit(page.limit);
  if (clusterId !== undefined) query = query.where('cluster_id', '=', clusterId);
  if (source !== undefined) query = query.where('source', '=', source);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (since !== undefined) query = query.where('at', '>=', since);
  if (until !== undefined) query = query.where('at', '<', until);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  if (text !== undefined) query = query.where((eb) => eb.or([holds('summary', text), holds('reason', text)]));
  if (intentId !== undefined) {
    // Acts of before they named it have it in their text alone; they are its cluster's, which has an index.
    const ofIntent = db.selectFrom('intents').select('cluster_id').where('id', '=', intentId);
    query = query
      .where('cluster_id', 'in', ofIntent)
      .where((eb) => eb.or([eb('intent_id', '=', intentId), holds('summary', intentId)]));
  }
  if (resource !== undefined) {
    for (const [name, value] of Object.entries(resource)) {
      query = query.where(holds('resource_ref', `${JSON.stringify(name)}:${JSON.stringify(value)}`, { isExact: true }));
    }
  }
  return await query.execute();
}

/** Whether a column has that text in it; nothing in the text is a pattern. */
function holds(
  column: 'summary' | 'reason' | 'resource_ref',
  text: string,
  { isExact = false }: { readonly isExact?: boolean } = {},
): RawBuilder<boolean> {
  const pattern = `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`;
  const ref = sql.ref(`audit.${column}`);
  if (isExact) return sql<boolean>`${ref} LIKE ${pattern} ESCAPE '\\'`;
  return sql<boolean>`lower(${ref}) LIKE lower(${pattern}) ESCAPE '\\'`;
}
