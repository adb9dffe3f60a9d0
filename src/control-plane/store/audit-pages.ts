import type { Kysely } from 'kysely';
import type { AuditRow, Database } from './schema.ts';

export interface AuditFilter {
  readonly organizationId: string;
  readonly clusterId: string | undefined;
  readonly source: AuditRow['source'] | undefined;
  readonly kind: string | undefined;
}

/** Audit entries of one organization, the newest first; at most `limit`, those before the entry `before`. */
export async function listAudit(
  db: Kysely<Database>,
  filter: AuditFilter,
  page: { readonly limit: number; readonly before: number | undefined },
): Promise<(Omit<AuditRow, 'id'> & { readonly id: number })[]> {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .where('organization_id', '=', filter.organizationId)
    .orderBy('id', 'desc')
    .limit(page.limit);
  if (filter.clusterId !== undefined) query = query.where('cluster_id', '=', filter.clusterId);
  if (filter.source !== undefined) query = query.where('source', '=', filter.source);
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  return await query.execute();
}
