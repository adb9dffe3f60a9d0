import { sql, type Kysely } from 'kysely';
import type { FoldedCondition } from '../../events/ingest/ingest-store.ts';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import { Reason } from '../../resources/reasons.ts';
import { reportedWhen } from './reported-when.ts';
import type { ApplicationRow, Database } from './schema.ts';

/** Objects in one statement. */
const CHUNK = 200;

/** `Ready=False` with one of these: it is on its way, or waits for what somebody has still to do. */
const UNDER_WAY: readonly string[] = [
  Reason.HelmReleasePending,
  Reason.HelmReleaseInstalling,
  Reason.HelmReleaseUpgrading,
  Reason.DependencyNotReady,
  Reason.Uninstalling,
  Reason.Paused,
  Reason.ApprovalMissing,
];

/** What a report of `Ready` says of an application; null: it is gone. */
export function observedOf(status: string, reason: string | null): ApplicationRow['observed'] {
  if (status === 'True') return reason === Reason.HelmReleaseRolledBack ? 'failed' : 'ready';
  if (reason === Reason.Uninstalled || reason === Reason.Orphaned) return null;
  // By its spec.
  if (reason === Reason.Suspended) return 'ready';
  return status === 'False' && reason !== null && !UNDER_WAY.includes(reason) ? 'failed' : 'progressing';
}

/**
 * Keeps what lists tell of a cluster and its applications beside what was reported, in the transaction that folds the
 * reports. Reads what is standing now and not what came: of two objects that had one name the later counts.
 *
 * @param placed the conditions that the fold put in place
 */
export async function noteObserved(
  trx: Kysely<Database>,
  clusterId: string,
  placed: readonly FoldedCondition[],
): Promise<void> {
  const ready = placed.filter(
    ({ event, condition }) => event.resourceRef.kind === APPLICATION_INSTANCE_KIND && condition.type === 'Ready',
  );
  const names = new Map(
    ready.map(({ event: { resourceRef } }) => {
      const name = [resourceRef.namespace ?? '', resourceRef.name] as const;
      return [name.join('/'), name];
    }),
  );
  // In one order: whoever else writes these rows takes them in it too.
  const sorted = [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
  for (let start = 0; start < sorted.length; start += CHUNK) {
    await noteApplications(trx, clusterId, sorted.slice(start, start + CHUNK));
  }
  const isSynced = ({ event, condition }: FoldedCondition): boolean =>
    event.resourceRef.kind === 'Cluster' && condition.type === 'Synced';
  if (placed.some(isSynced)) await noteFault(trx, clusterId);
}

async function noteApplications(
  trx: Kysely<Database>,
  clusterId: string,
  names: readonly (readonly [namespace: string, name: string])[],
): Promise<void> {
  const list = sql.join(names.map(([namespace, name]) => sql`(${namespace}, ${name})`));
  const applications = await trx
    .selectFrom('applications')
    .select(['namespace', 'name', 'observed', 'state'])
    .where('cluster_id', '=', clusterId)
    .where(sql<boolean>`(namespace, name) IN (VALUES ${list})`)
    .execute();
  if (applications.length === 0) return;
  const reports = await trx
    .selectFrom('resource_conditions')
    .select(['namespace', 'name', 'status', 'reason'])
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', APPLICATION_INSTANCE_KIND)
    .where(sql<boolean>`(namespace, name) IN (VALUES ${list})`)
    .where('type', '=', 'Ready')
    .orderBy(reportedWhen('resource_conditions'))
    .orderBy('updated_at')
    .orderBy('uid')
    .execute();
  const latest = new Map(reports.map((report) => [`${report.namespace}/${report.name}`, report]));
  for (const { namespace, name, observed, state } of applications) {
    const report = latest.get(`${namespace}/${name}`);
    const now = report === undefined || state === 'removed' ? null : observedOf(report.status, report.reason);
    if (now === observed) continue;
    await trx
      .updateTable('applications')
      .set({ observed: now })
      .where('cluster_id', '=', clusterId)
      .where('namespace', '=', namespace)
      .where('name', '=', name)
      .execute();
  }
}

async function noteFault(trx: Kysely<Database>, clusterId: string): Promise<void> {
  const report = await trx
    .selectFrom('resource_conditions')
    .select(['status', 'reason'])
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', 'Cluster')
    .where('type', '=', 'Synced')
    .orderBy(reportedWhen('resource_conditions'), 'desc')
    .orderBy('updated_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const fault = report?.status === 'False' ? (report.reason ?? 'Synced=False') : null;
  await trx
    .updateTable('clusters')
    .set({ reported_fault: fault })
    .where('id', '=', clusterId)
    .where('reported_fault', 'is distinct from', fault)
    .execute();
}
