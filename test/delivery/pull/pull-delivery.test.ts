import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acceptIntent } from '../../../src/control-plane/accept-intent.ts';
import { ValuesChecker } from '../../../src/control-plane/values-checker.ts';
import { StoreJobQueue } from '../../../src/control-plane/jobs/store-job-queue.ts';
import { openMasterKey, type MasterKey } from '../../../src/control-plane/master-key.ts';
import { renderQueued } from '../../../src/control-plane/render-queued.ts';
import { putCatalogEntry } from '../../../src/control-plane/store/catalog-entries.ts';
import { insertPendingCluster } from '../../../src/control-plane/store/clusters.ts';
import { nextBatch } from '../../../src/control-plane/store/delivery-queue.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { jobsTopic } from '../../../src/control-plane/topics.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import type { Receipt } from '../../../src/delivery/delivery.ts';
import { PullDelivery } from '../../../src/delivery/pull/pull-delivery.ts';
import { deliverableNow, selectDelivery } from '../../../src/delivery/select-delivery.ts';
import type { Rendered } from '../../../src/intent/rendered.ts';
import { DEFAULT_INTERVALS } from '../../../src/protocol/agent-config.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { INSTALL, PODINFO } from '../../control-plane/running-control-plane.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const NEVER = new AbortController().signal;

let folder: string;
let clock: ManualClock;
let store: Store;
let wakeups: Wakeups;
let masterKey: MasterKey;
let queue: StoreJobQueue;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pull-delivery-'));
  clock = new ManualClock();
  wakeups = new Wakeups({ clock });
  store = await openStore({ url: `sqlite:${join(folder, 'db')}`, clock, logger: createLogger('test', 'silent') });
  masterKey = openMasterKey({ file: join(folder, 'master.key'), randomBytes });
  queue = new StoreJobQueue({ store, wakeups, clock, randomBytes, jobLifetimeMs: 60_000 });
  await store.write(async (trx) => {
    await trx.insertInto('organizations').values({ id: 'org-1', name: 'first', created_at: '' }).execute();
    await putCatalogEntry(trx, 'org-1', { name: 'podinfo', ...PODINFO, updatedAt: '' } as never);
  });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function newCluster(id: string): Promise<void> {
  await store.write(async (trx) => {
    await insertPendingCluster(trx, {
      id,
      organization_id: 'org-1',
      slug: id,
      display_name: id,
      connectivity_mode: 'pull',
      allowed_namespaces: '["shop"]',
      allowed_catalog_entries: '["podinfo"]',
      allowed_operation_templates: '[]',
      security: '{"requireSignedPayloads":false,"requireEncryptedSecretPayloads":false}',
      intervals: JSON.stringify(DEFAULT_INTERVALS),
      own_intervals: null,
      repository_id: null,
      git_directory: null,
      created_at: '',
    });
  });
}

async function accept(clusterId: string, name: string): Promise<string> {
  // Acceptance is ordered by the millisecond.
  clock.advance(1);
  const valuesChecker = new ValuesChecker({ clock });
  const deps = { store, wakeups, clock, randomBytes, masterKey, valuesChecker };
  const request = { ...INSTALL, name } as never;
  return (await acceptIntent(deps, { clusterId, request, requestedBy: 'admin', requestKey: undefined })).id;
}

/** What the delivery loop would hand over. */
async function waiting(): Promise<readonly Rendered[]> {
  return (await renderQueued(store.db, await nextBatch(store.db, { mode: 'pull' }, 200))).rendered;
}

async function deliver(clusterId: string, batch: readonly Rendered[]): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  await using delivery = new PullDelivery(queue, clusterId);
  for await (const receipt of delivery.deliver(batch, NEVER)) receipts.push(receipt);
  return receipts;
}

describe('PullDelivery', () => {
  it('makes one job an intent, with the receipt in the same write, and wakes the cluster', async () => {
    await newCluster('c-1');
    const ids = [await accept('c-1', 'one'), await accept('c-1', 'two')];
    const before = wakeups.version(jobsTopic('c-1'));
    const receipts = await deliver('c-1', await waiting());
    const jobs = await store.db.selectFrom('jobs').selectAll().execute();
    expect(receipts).toEqual(
      ids.map((intentId) => ({
        state: 'delivered',
        intentId,
        mode: 'pull',
        jobId: jobs.find((job) => job.intent_id === intentId)?.id,
        stored: true,
      })),
    );
    expect(jobs).toHaveLength(2);
    expect(Date.parse(jobs[0]?.expires_at ?? '') - clock.now().getTime()).toBe(60_000);
    const states = await store.db.selectFrom('intents').select(['state']).execute();
    expect(states).toEqual([{ state: 'delivered' }, { state: 'delivered' }]);
    expect(await store.db.selectFrom('receipts').select('intent_id').execute()).toHaveLength(2);
    expect(wakeups.version(jobsTopic('c-1'))).not.toBe(before);
  });

  it('makes no second open job when a batch is repeated', async () => {
    await newCluster('c-1');
    await accept('c-1', 'one');
    const batch = await waiting();
    const first = await deliver('c-1', batch);
    expect(await deliver('c-1', batch)).toEqual(first);
    const [once, again] = await Promise.all([deliver('c-1', batch), deliver('c-1', batch)]);
    expect([once, again]).toEqual([first, first]);
    expect(await store.db.selectFrom('jobs').select('id').execute()).toHaveLength(1);
  });

  it('makes none for an intent that has gone on, nor across a fence', async () => {
    await newCluster('c-1');
    await accept('c-1', 'one');
    const batch = await waiting();
    const change = async (set: object): Promise<void> => {
      await store.write(async (trx) => await trx.updateTable('clusters').set(set).execute());
    };
    const retry = { state: 'retry', intentId: batch[0]?.intent.id };
    await change({ delivery_epoch: 2 });
    expect(await deliver('c-1', batch)).toMatchObject([{ ...retry, message: expect.stringContaining('epoch') }]);
    await change({ delivery_epoch: 1, connectivity_mode: 'gitops' });
    expect(await deliver('c-1', batch)).toMatchObject([{ ...retry, message: expect.stringContaining('gitops mode') }]);
    await change({ connectivity_mode: 'pull' });
    await store.write(async (trx) => await trx.updateTable('intents').set({ state: 'superseded' }).execute());
    expect(await deliver('c-1', batch)).toMatchObject([retry]);
    expect(await store.db.selectFrom('jobs').select('id').execute()).toEqual([]);
  });

  it('says whether the cluster may be given jobs', async () => {
    await newCluster('c-1');
    expect(await new PullDelivery(queue, 'c-1').probe(NEVER)).toEqual({ state: 'ready' });
    await store.write(async (trx) => await trx.updateTable('clusters').set({ disabled_at: 'now' }).execute());
    expect(await new PullDelivery(queue, 'c-1').probe(NEVER)).toMatchObject({ state: 'forbidden' });
    expect(await new PullDelivery(queue, 'c-2').probe(NEVER)).toMatchObject({ state: 'forbidden' });
  });
});

describe('selectDelivery', () => {
  it('makes the queue of a cluster in pull mode its target, whatever repository it has', () => {
    const way = { clusterId: 'c-1', mode: 'pull', repositoryId: 'repo-1' } as const;
    expect(selectDelivery(way)).toEqual({ mode: 'pull', clusterId: 'c-1' });
    expect(deliverableNow(way)).toBeUndefined();
    expect(deliverableNow({ ...way, mode: 'push' })).toBeUndefined();
  });
});
