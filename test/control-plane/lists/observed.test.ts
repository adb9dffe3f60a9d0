import { describe, expect, it } from 'vitest';
import { eventIngestStore } from '../../../src/control-plane/store/event-ingest-store.ts';
import { insertIntent } from '../../../src/control-plane/store/intents.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import type { FoldedCondition } from '../../../src/events/ingest/ingest-store.ts';
import { insertCluster, insertOrganization } from '../store/open-test-store.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';

const AT = '2026-11-28T12:00:00.000Z';
const CLUSTER = { id: 'c-one', organization_id: 'org', slug: 'one' };

/** A condition as the fold takes it. The later `sequence` counts, and between two objects of one name too. */
function condition(
  kind: 'ApplicationInstance' | 'Cluster',
  uid: string,
  sequence: number,
  of: { readonly type: string; readonly status: 'True' | 'False' | 'Unknown'; readonly reason: string },
): FoldedCondition {
  const place = kind === 'Cluster' ? { name: 'cluster' } : { namespace: 'shop', name: 'podinfo' };
  return {
    uid,
    condition: of,
    orderKey: `1|${String(sequence).padStart(20, '0')}`,
    event: { resourceRef: { apiVersion: 'apps.service.io/v1alpha1', kind, uid, ...place }, conditions: [of] } as never,
  };
}

async function report(store: Store, ...conditions: readonly FoldedCondition[]): Promise<unknown> {
  await store.write(async (trx) => await eventIngestStore(trx, CLUSTER, AT).foldConditions(conditions));
  const application = await store.db.selectFrom('applications').select(['observed', 'health']).executeTakeFirst();
  const cluster = await store.db.selectFrom('clusters').select('reported_fault').executeTakeFirst();
  return [application?.observed, application?.health, cluster?.reported_fault];
}

describe.each(TEST_DATABASES)('what is reported, on $name', ({ create }) => {
  it('is kept with the application and the cluster in the transaction that folds it', async () => {
    using database = await create();
    await using store = await database.open();
    await insertOrganization(store, 'org');
    await insertCluster(store, CLUSTER);
    await store.write(async (trx) => {
      await insertIntent(trx, {
        id: 'int-1',
        organization_id: 'org',
        cluster_id: CLUSTER.id,
        target_kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'podinfo',
        generation: 1,
        action: 'install',
        record: '{}',
        idempotency_key: 'key',
        state: 'ready',
        reason: null,
        requested_by: 'anna',
        recovery_values: null,
        render_inputs: null,
        awaits_approval: null,
        accepted_at: AT,
        delivered_at: AT,
        applied_at: AT,
        ready_at: AT,
      });
    });
    const ready = (uid: string, sequence: number, status: 'True' | 'False', reason: string): FoldedCondition =>
      condition('ApplicationInstance', uid, sequence, { type: 'Ready', status, reason });
    const synced = (sequence: number, status: 'True' | 'False', reason: string): FoldedCondition =>
      condition('Cluster', 'uid-c', sequence, { type: 'Synced', status, reason });

    expect(await report(store, ready('uid-1', 1, 'True', 'HelmReleaseReady'))).toEqual(['ready', 'healthy', null]);
    expect(await report(store, ready('uid-1', 3, 'False', 'HelmReleaseFailed'))).toEqual(['failed', 'degraded', null]);
    // What comes late changes nothing.
    expect(await report(store, ready('uid-1', 2, 'True', 'HelmReleaseReady'))).toEqual(['failed', 'degraded', null]);
    expect(await report(store, ready('uid-1', 4, 'False', 'HelmReleaseUpgrading'))).toEqual([
      'progressing',
      'progressing',
      null,
    ]);
    // Made anew under the same name; the end of the old one is told after the new one's beginning.
    expect(await report(store, ready('uid-2', 6, 'True', 'HelmReleaseReady'))).toEqual(['ready', 'healthy', null]);
    expect(await report(store, ready('uid-1', 5, 'False', 'Uninstalled'))).toEqual(['ready', 'healthy', null]);
    expect(await report(store, synced(1, 'False', 'SourceUnreachable'))).toEqual([
      'ready',
      'healthy',
      'SourceUnreachable',
    ]);
    expect(await report(store, synced(2, 'True', 'Applied'))).toEqual(['ready', 'healthy', null]);
    // Another kind of that name is another thing.
    const other = condition('ApplicationInstance', 'uid-2', 7, { type: 'Degraded', status: 'True', reason: 'x' });
    expect(await report(store, other)).toEqual(['ready', 'healthy', null]);
  });
});
