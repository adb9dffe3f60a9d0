import type { Insertable, Kysely } from 'kysely';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { ChangeRow, Database, IntentRow, JobRow } from './schema.ts';

/** What is told of: the first part of the path below `/api/v1` under which it is looked at. */
export const CHANGE_RESOURCES = [
  'clusters',
  'intents',
  'operations',
  'jobs',
  'approvals',
  'proposals',
  'catalog',
  'operation-templates',
  'repositories',
  'commit-signing-keys',
  'members',
  'admin-tokens',
  'organization',
  'channel',
  'saved-filters',
  'events',
  'audit',
] as const;
export type ChangeResource = (typeof CHANGE_RESOURCES)[number];

/** That something changed, not what it is now. Without an id: the list of them may have. */
export interface Change {
  readonly organizationId: string;
  readonly resource: ChangeResource;
  readonly id?: string | undefined;
  readonly clusterId?: string | undefined;
}

/** Of one resource and cluster more than so many are told as one without an id. */
const MAX_IDS = 50;

const insertChanges = bulkInsert<Omit<Insertable<ChangeRow>, 'seq'>>(
  ['organization_id', 'at', 'resource', 'resource_id', 'cluster_id'],
  (trx, rows) => trx.insertInto('changes').values(rows),
);

const collected = new WeakMap<Kysely<Database>, Map<string, Change>>();

/** Told with the commit of this transaction, once however often it is noted. */
export function noteChange(trx: Kysely<Database>, change: Change): void {
  const changes = collected.get(trx);
  if (changes === undefined) throw new Error('a change can only be noted with the transaction of a write of the store');
  changes.set(`${change.organizationId} ${change.resource} ${change.id ?? ''} ${change.clusterId ?? ''}`, change);
}

/** What `noteIntents` needs of each: for `returning`. */
export const OF_CHANGED_INTENT = ['id', 'organization_id', 'cluster_id', 'target_kind'] as const;
export type ChangedIntent = Pick<IntentRow, (typeof OF_CHANGED_INTENT)[number]>;

/** Intents whose state, or what it is waiting for, changed. */
export function noteIntents(trx: Kysely<Database>, intents: readonly ChangedIntent[]): void {
  for (const { id, organization_id: organizationId, cluster_id: clusterId, target_kind: kind } of intents) {
    noteChange(trx, { organizationId, resource: 'intents', id, clusterId });
    if (kind === OPERATION_KIND) noteChange(trx, { organizationId, resource: 'operations', id, clusterId });
  }
}

/** What `noteJobs` needs of each: for `returning`. */
export const OF_CHANGED_JOB = ['id', 'organization_id', 'cluster_id', 'intent_id'] as const;

/** Jobs that came further, and the intents that they bring, whose way that is. */
export function noteJobs(trx: Kysely<Database>, jobs: readonly Pick<JobRow, (typeof OF_CHANGED_JOB)[number]>[]): void {
  for (const { id, organization_id: organizationId, cluster_id: clusterId, intent_id: intentId } of jobs) {
    // Its cluster was deleted.
    if (typeof organizationId !== 'string') continue;
    noteChange(trx, { organizationId, resource: 'jobs', id, clusterId });
    noteChange(trx, { organizationId, resource: 'intents', id: intentId, clusterId });
  }
}

/** What `noteRows` needs of each: for `returning`. */
export const OF_CHANGED = ['id', 'organization_id', 'cluster_id'] as const;

export function noteRows(
  trx: Kysely<Database>,
  resource: ChangeResource,
  rows: readonly Pick<IntentRow, (typeof OF_CHANGED)[number]>[],
): void {
  for (const { id, organization_id: organizationId, cluster_id: clusterId } of rows) {
    noteChange(trx, { organizationId, resource, id, clusterId });
  }
}

/**
 * Runs `work` and stores what it noted, as the last thing before the commit: on PostgreSQL that keeps the time short in
 * which a later number can be seen before an earlier one.
 *
 * @returns what `work` did, and how many changes were stored
 */
export async function collectChanges<T>(
  trx: Kysely<Database>,
  at: string,
  work: (trx: Kysely<Database>) => Promise<T>,
): Promise<{ readonly value: T; readonly count: number }> {
  const changes = new Map<string, Change>();
  collected.set(trx, changes);
  try {
    const value = await work(trx);
    const rows = asRows(changes.values(), at);
    if (rows.length > 0) await insertChanges.run(trx, rows);
    return { value, count: rows.length };
  } finally {
    collected.delete(trx);
  }
}

function asRows(changes: Iterable<Change>, at: string): Omit<Insertable<ChangeRow>, 'seq'>[] {
  const groups = Map.groupBy(changes, ({ organizationId, resource, clusterId = '' }) =>
    JSON.stringify([organizationId, resource, clusterId]),
  );
  return [...groups.values()].flatMap((group) => {
    const told = group.length > MAX_IDS ? group.slice(0, 1).map((one) => ({ ...one, id: undefined })) : group;
    return told.map(({ organizationId, resource, id, clusterId }) => ({
      organization_id: organizationId,
      at,
      resource,
      resource_id: id ?? null,
      cluster_id: clusterId ?? null,
    }));
  });
}
