import type { Kysely } from 'kysely';
import { AppError } from '../protocol/app-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { revokeAgentCredentials } from './store/agent-credentials.ts';
import type { AdminIdentity } from './store/admin-tokens.ts';
import { appendAudit } from './store/audit.ts';
import { revokeGitCredentialsOf } from './store/git-credentials.ts';
import { revokePushCredentials } from './store/push-credentials.ts';
import { lockCluster } from './store/lock-cluster.ts';
import type { Store } from './store/open-store.ts';
import type { ClusterRow, Database } from './store/schema.ts';

/** Events deleted in one transaction: a long history must not hold up everybody's writes. */
const EVENTS_AT_ONCE = 2000;

/**
 * Deletes a cluster's record with all that hangs on it. The audit log and the discussion channel stay, and so does its slug,
 * which is never used again: what stands in Git under it must not come to another cluster. Nothing in the cluster itself,
 * and nothing in Git, is touched.
 *
 * The cluster is disabled first, so that a crash in between leaves a record that nobody can use and that can be deleted again.
 *
 * @param force without it, only a cluster that is disabled or that never registered is deleted
 * @throws AppError `conflict`
 */
export async function deleteCluster(
  deps: { readonly store: Store; readonly clock: Clock },
  cluster: Pick<ClusterRow, 'id' | 'slug'>,
  admin: AdminIdentity,
  force: boolean,
): Promise<void> {
  const { store, clock } = deps;
  const now = clock.now();
  const at = now.toISOString();
  await store.write(async (trx) => {
    const row = await lockCluster(trx, cluster.id);
    if (row === undefined) return;
    if (!force && row.disabled_at === null && row.status === 'Active') {
      throw new AppError(
        'conflict',
        `cluster ${row.slug} is in use: disable it first, or force it (force=true; servicectl: --force). Its applications are not removed either way; uninstall them before`,
      );
    }
    await trx
      .updateTable('clusters')
      .set({ disabled_at: row.disabled_at ?? at, revoked_at: row.revoked_at ?? at })
      .where('id', '=', row.id)
      .execute();
    await revokeAgentCredentials(trx, row.id, at);
    await revokeGitCredentialsOf(trx, row.id, now);
    await revokePushCredentials(trx, row.id, 'the cluster was deleted', at);
  });
  while (await store.write(async (trx) => await deleteSomeEvents(trx, cluster.id)));
  await store.write(async (trx) => {
    const row = await lockCluster(trx, cluster.id);
    if (row === undefined) return;
    await deleteRows(trx, row.id);
    await trx
      .insertInto('deleted_clusters')
      .values({ id: row.id, organization_id: row.organization_id, slug: row.slug, deleted_at: at })
      .execute();
    await appendAudit(trx, {
      organizationId: row.organization_id,
      at,
      source: 'user',
      kind: 'ClusterDeleted',
      clusterId: row.id,
      actor: admin.name,
      summary: `cluster ${row.slug} deleted; what runs there and what stands in Git was not touched`,
    });
  });
}

/** @returns whether there may be more */
async function deleteSomeEvents(trx: Kysely<Database>, clusterId: string): Promise<boolean> {
  const result = await trx
    .deleteFrom('events')
    .where('seq', 'in', (eb) =>
      eb.selectFrom('events').select('seq').where('cluster_id', '=', clusterId).limit(EVENTS_AT_ONCE),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows) === EVENTS_AT_ONCE;
}

/** What refers to another goes before it. */
async function deleteRows(trx: Kysely<Database>, clusterId: string): Promise<void> {
  await trx
    .deleteFrom('receipts')
    .where('intent_id', 'in', (eb) => eb.selectFrom('intents').select('id').where('cluster_id', '=', clusterId))
    .execute();
  await trx
    .deleteFrom('proposal_reviews')
    .where('proposal_id', 'in', (eb) => eb.selectFrom('proposals').select('id').where('cluster_id', '=', clusterId))
    .execute();
  await trx
    .deleteFrom('approval_reviews')
    .where('approval_id', 'in', (eb) => eb.selectFrom('approvals').select('id').where('cluster_id', '=', clusterId))
    .execute();
  for (const table of [
    'approvals',
    'proposals',
    'mode_handovers',
    'mode_switches',
    'push_credentials',
    'jobs',
    'reported_generations',
    'request_keys',
    'intents',
    'applications',
    'cluster_labels',
    'events',
    'resource_conditions',
    'registration_tokens',
    'agent_credentials',
    'signing_keys',
    'git_credentials',
  ] as const) {
    await trx.deleteFrom(table).where('cluster_id', '=', clusterId).execute();
  }
  await trx.deleteFrom('clusters').where('id', '=', clusterId).execute();
}
