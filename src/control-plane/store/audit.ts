import type { Insertable, Kysely } from 'kysely';
import type { ResourceRef } from '../../protocol/condition.ts';
import type { EventKind } from '../../protocol/event.ts';
import type { AuditKind } from './audit-kinds.ts';
import { noteChange, type Change, type ChangeResource } from './changes.ts';
import type { AuditRow, Database } from './schema.ts';

/** What is said of an act or a report. `source` keeps the operators' reports apart from what people did. */
export interface AuditEntry {
  readonly organizationId: string;
  readonly at: string;
  readonly source: 'agent' | 'user';
  readonly kind: AuditKind | EventKind;
  readonly clusterId?: string;
  /** Who, for `user`. */
  readonly actor?: string;
  readonly summary: string;
  readonly reason?: string;
  readonly eventSeq?: number;
  /** What a report is about. */
  readonly resourceRef?: ResourceRef;
  /** Of the intent that the act is about, or that a report names as its source. */
  readonly intentId?: string;
}

/** Part of the transaction of what it records: neither is ever there without the other. */
export async function appendAudit(trx: Kysely<Database>, entry: AuditEntry): Promise<void> {
  await trx.insertInto('audit').values(auditRow(entry)).execute();
  for (const change of changesOf(entry)) noteChange(trx, change);
}

/** What an act is about where it names no cluster: beginnings of its kind. */
const RESOURCE_OF_KIND: readonly (readonly [beginning: string, resource: ChangeResource])[] = [
  ['Catalog', 'catalog'],
  ['OperationTemplate', 'operation-templates'],
  ['Repository', 'repositories'],
  ['GitHistory', 'repositories'],
  ['CommitSign', 'commit-signing-keys'],
  ['Member', 'members'],
  ['AdminToken', 'admin-tokens'],
  ['SavedFilter', 'saved-filters'],
  ['Channel', 'channel'],
  ['Webhook', 'channel'],
];

/** The entry itself, and what the act was about: a cluster, or what its kind says; else the organization. */
function changesOf({ organizationId, clusterId, kind, source }: AuditEntry): Change[] {
  const entry: Change = { organizationId, resource: 'audit', clusterId };
  if (clusterId !== undefined) return [entry, { organizationId, resource: 'clusters', id: clusterId, clusterId }];
  if (source === 'agent') return [entry];
  const [, resource = 'organization' as const] =
    RESOURCE_OF_KIND.find(([beginning]) => kind.startsWith(beginning)) ?? [];
  return [entry, { organizationId, resource }];
}

export function auditRow(entry: AuditEntry): Insertable<AuditRow> {
  return {
    organization_id: entry.organizationId,
    at: entry.at,
    source: entry.source,
    kind: entry.kind,
    cluster_id: entry.clusterId ?? null,
    actor: entry.actor ?? null,
    summary: entry.summary,
    reason: entry.reason ?? null,
    event_seq: entry.eventSeq ?? null,
    resource_ref: entry.resourceRef === undefined ? null : JSON.stringify(entry.resourceRef),
    intent_id: entry.intentId ?? null,
  };
}
