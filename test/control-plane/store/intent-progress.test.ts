import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventIngestStore } from '../../../src/control-plane/store/event-ingest-store.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { storeReceipt } from '../../../src/control-plane/store/receipts.ts';
import { ingestEvents } from '../../../src/events/ingest/ingest-events.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { insertCluster, insertOrganization } from './open-test-store.ts';
import { TEST_DATABASES, type TestDatabase } from './test-databases.ts';

const ACCEPTED_AT = '2026-11-28T10:00:00.000Z';
const REPORTED_AT = '2026-11-28T10:00:01.000Z';
const DELIVERED_AT = '2026-11-28T10:00:02.000Z';
const CLUSTER = { id: 'c-0000000000000001', organization_id: 'org-1', slug: 'prod-eu' };
const DELIVERED = { state: 'delivered', intentId: 'int-1', mode: 'gitops', commit: 'abc', revision: 'tree' } as const;

let database: TestDatabase;
let store: Store;
async function open(create: () => Promise<TestDatabase>): Promise<void> {
  database = await create();
  store = await database.open();
  await insertOrganization(store, 'org-1');
  await insertCluster(store, CLUSTER);
  await store.write(async (trx) => {
    await trx
      .insertInto('intents')
      .values({
        id: 'int-1',
        organization_id: 'org-1',
        cluster_id: CLUSTER.id,
        target_kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'podinfo',
        generation: 1,
        action: 'install',
        record: '{}',
        idempotency_key: 'k',
        state: 'accepted',
        reason: null,
        requested_by: 'admin',
        accepted_at: ACCEPTED_AT,
        delivered_at: null,
        applied_at: null,
        ready_at: null,
      })
      .execute();
  });
}

async function report(status: 'True' | 'False', reason: string, name = 'podinfo'): Promise<void> {
  const event: AgentEvent = {
    eventKey: `${name}/${reason}`,
    kind: 'ConditionTransition',
    resourceRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name,
      uid: name,
    },
    conditions: [{ type: reason === 'HelmReleaseInstallFailed' ? 'Degraded' : 'Ready', status, reason }],
    timestamp: REPORTED_AT,
    source: { intentId: 'int-1', epoch: 1 },
  };
  await store.write(async (trx) => {
    await ingestEvents({ store: eventIngestStore(trx, CLUSTER, REPORTED_AT), deliveryEpoch: 1, events: [event] });
  });
}

async function deliver(receipt: Parameters<typeof storeReceipt>[2] = DELIVERED): Promise<void> {
  await store.write(async (trx) => {
    const row = await trx.selectFrom('intents').selectAll().where('id', '=', 'int-1').executeTakeFirstOrThrow();
    await storeReceipt(trx, { ...row, delivery_epoch: 1 }, receipt, DELIVERED_AT);
  });
}

async function intent(): Promise<Record<string, unknown>> {
  return await store.db
    .selectFrom('intents')
    .select(['state', 'reason', 'delivered_at', 'applied_at', 'ready_at'])
    .executeTakeFirstOrThrow();
}

const WAITING = { state: 'accepted', reason: null, delivered_at: null, applied_at: null, ready_at: null };

describe.each(TEST_DATABASES)('a report that is faster than the receipt, on $name', ({ create }) => {
  beforeEach(async () => await open(create));
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    database[Symbol.dispose]();
  });

  it('leaves the intent to be delivered, and counts once it is', async () => {
    await report('True', 'HelmReleaseReady');
    expect(await intent()).toEqual(WAITING);
    await deliver();
    expect(await intent()).toEqual({
      state: 'ready',
      reason: null,
      delivered_at: DELIVERED_AT,
      applied_at: DELIVERED_AT,
      ready_at: DELIVERED_AT,
    });
  });

  it('does not fail what was never delivered', async () => {
    await report('True', 'HelmReleaseInstallFailed');
    expect(await intent()).toEqual(WAITING);
    await deliver();
    expect(await intent()).toMatchObject({ state: 'failed', reason: 'HelmReleaseInstallFailed', ready_at: null });
  });

  it.each([
    ['Orphaned', 'Orphaned: HelmRelease podinfo stays'],
    ['Uninstalled', null],
  ])('says what stays where push finds no object to uninstall, after a last report %s', async (reason, expected) => {
    await report('False', reason);
    await store.write(async (trx) => {
      await trx.updateTable('intents').set({ action: 'uninstall' }).execute();
      await trx
        .updateTable('resource_conditions')
        .set({ message: 'HelmRelease podinfo stays', source: '{}' })
        .execute();
      await trx.deleteFrom('events').execute();
    });
    await deliver({ state: 'delivered', intentId: 'int-1', mode: 'push', fieldManager: 'm', isAbsent: true });
    expect(await intent()).toMatchObject({ state: 'removed', reason: expected });
  });

  it('on another object decides nothing, before or after', async () => {
    await report('True', 'HelmReleaseReady', 'copy-of-podinfo');
    await deliver();
    await report('True', 'HelmReleaseInstallFailed', 'copy-of-podinfo');
    expect(await intent()).toMatchObject({
      state: 'delivered',
      reason: null,
      delivered_at: DELIVERED_AT,
      ready_at: null,
    });
  });
});
