import { sql, type Kysely } from 'kysely';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { receiptsOf, type IntentWithReceipt } from './intents.ts';
import { withReports, type StoredOperation } from './operation-views.ts';
import { proposalsOfIntents } from './proposals.ts';
import type { Database, IntentRow, JobRow } from './schema.ts';

/** Sort key of what was asked for: the newest comes first. */
export type TimeKey = readonly [at: string, id: string];

export interface TimePage {
  readonly limit: number;
  readonly before: TimeKey | undefined;
}

/** Which intents of an organization; what is left out does not matter. */
export interface IntentFilter {
  readonly organizationId: string;
  /** One of the organization's: then nothing else of the organization is looked at. */
  readonly clusterId?: string | undefined;
  readonly state?: IntentRow['state'] | undefined;
  readonly action?: IntentRow['action'] | undefined;
  readonly requestedBy?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** RFC 3339 UTC with milliseconds. */
  readonly since?: string | undefined;
}

export interface OperationFilter extends Omit<IntentFilter, 'action'> {
  readonly template?: string | undefined;
}

/** The newest first; four queries however many there are. */
export async function listIntents(
  db: Kysely<Database>,
  filter: IntentFilter,
  page: TimePage,
): Promise<(IntentWithReceipt & { readonly slug: string })[]> {
  const rows = await intentQuery(db, filter, page).execute();
  const ids = rows.map(({ id }) => id);
  const [receipts, proposals] = [await receiptsOf(db, ids), await proposalsOfIntents(db, ids)];
  return rows.map(({ slug, ...intent }) => ({
    intent,
    slug,
    receipt: receipts.get(intent.id),
    proposal: proposals.get(intent.id),
  }));
}

/** The newest first; three queries however many there are. */
export async function listOperationsOf(
  db: Kysely<Database>,
  { template, ...filter }: OperationFilter,
  page: TimePage,
): Promise<StoredOperation[]> {
  let query = intentQuery(db, filter, page)
    .where('intents.target_kind', '=', OPERATION_KIND)
    .where('intents.cancels', 'is', null);
  if (template !== undefined) query = query.where('intents.operation_template', '=', template);
  return await withReports(db, await query.execute());
}

function intentQuery(db: Kysely<Database>, filter: IntentFilter, { limit, before }: TimePage) {
  const { organizationId, clusterId, state, action, requestedBy, namespace, name, since } = filter;
  let query = db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .selectAll('intents')
    .select('clusters.slug')
    .orderBy('intents.accepted_at', 'desc')
    .orderBy('intents.id', 'desc')
    .limit(limit);
  query =
    clusterId === undefined
      ? query.where('intents.organization_id', '=', organizationId)
      : query.where('intents.cluster_id', '=', clusterId);
  if (state !== undefined) query = query.where('intents.state', '=', state);
  if (action !== undefined) query = query.where('intents.action', '=', action);
  if (requestedBy !== undefined) query = query.where('intents.requested_by', '=', requestedBy);
  if (namespace !== undefined) query = query.where('intents.namespace', '=', namespace);
  if (name !== undefined) query = query.where('intents.name', '=', name);
  if (since !== undefined) query = query.where('intents.accepted_at', '>=', since);
  if (before === undefined) return query;
  return query.where(sql<boolean>`(intents.accepted_at, intents.id) < (${sql.join(before)})`);
}

export interface JobFilter {
  readonly organizationId: string;
  readonly clusterId?: string | undefined;
  readonly state?: JobRow['state'] | undefined;
}

/** The newest first. */
export async function listJobs(
  db: Kysely<Database>,
  { organizationId, clusterId, state }: JobFilter,
  { limit, before }: TimePage,
): Promise<(JobRow & { readonly slug: string })[]> {
  let query = db
    .selectFrom('jobs')
    .innerJoin('clusters', 'clusters.id', 'jobs.cluster_id')
    .selectAll('jobs')
    .select('clusters.slug')
    .orderBy('jobs.created_at', 'desc')
    .orderBy('jobs.id', 'desc')
    .limit(limit);
  query =
    clusterId === undefined
      ? query.where('jobs.organization_id', '=', organizationId)
      : query.where('jobs.cluster_id', '=', clusterId);
  if (state !== undefined) query = query.where('jobs.state', '=', state);
  if (before !== undefined) query = query.where(sql<boolean>`(jobs.created_at, jobs.id) < (${sql.join(before)})`);
  return await query.execute();
}
