import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openMasterKey } from '../../../src/control-plane/master-key.ts';
import { mayPush } from '../../../src/control-plane/push/deliver-by-push.ts';
import { newPushCredential } from '../../../src/control-plane/push/push-access.ts';
import { PushConnections } from '../../../src/control-plane/push/push-connections.ts';
import { reachOf } from '../../../src/control-plane/push/push-credential-info.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { findPushCredential, insertPushCredential } from '../../../src/control-plane/store/push-credentials.ts';
import type { Receipt } from '../../../src/delivery/delivery.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { json, startStubServer, type StubServer } from '../../kube/stub-server.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  insertCluster,
  insertOrganization,
  openTestStore,
  temporaryFolder,
  TEST_LOGGER,
} from '../store/open-test-store.ts';

const NEVER = new AbortController().signal;
const RIGHT = 'c-1';

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let clock: ManualClock;
let server: StubServer;
let connections: PushConnections;
/** Whose API server it is now. */
let there: string;
let retry: Extract<Receipt, { state: 'retry' }> | undefined;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = new ManualClock('2026-11-28T12:00:00.000Z');
  store = await openTestStore(folder.path);
  await insertOrganization(store, 'org');
  await insertCluster(store, { id: RIGHT, organization_id: 'org' });
  server = await startStubServer();
  there = RIGHT;
  server.handle((request, response) => {
    const { url = '' } = request;
    const items = [{ metadata: { name: 'here' }, status: { clusterId: there } }];
    const kinds = [{ name: 'clusters', kind: 'Cluster', namespaced: true }];
    const answer = url.includes('/clusters?')
      ? { metadata: { resourceVersion: '1' }, items }
      : url === '/apis/ops.service.io/v1alpha1'
        ? { kind: 'APIResourceList', resources: kinds }
        : { metadata: { name: 'a', namespace: 'shop' } };
    json(200, answer)(request, response);
  });
  const masterKey = openMasterKey({ file: join(folder.path, 'master.key'), randomBytes });
  const access = { server: server.url, userName: 'u', token: new Secret('a-token-of-the-account') };
  const credential = await newPushCredential(
    { masterKey, clock, randomBytes },
    { clusterId: RIGHT, access, createdBy: 'a' },
  );
  await store.write(async (trx) => {
    await trx.updateTable('clusters').set({ connectivity_mode: 'push' }).execute();
    await insertPushCredential(trx, credential, 'current');
  });
  retry = undefined;
  connections = new PushConnections({
    store,
    masterKey,
    clock,
    random: () => 0,
    logger: TEST_LOGGER,
    // Writes twice, with a minute between.
    deliverBy: (api) => ({
      probe: async () => await Promise.resolve({ state: 'ready' }),
      async *deliver() {
        if (retry !== undefined) yield retry;
        const writer = api.guarded(async () => await Promise.resolve());
        const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' };
        await writer.mergePatch(ref, {}, {}, NEVER);
        clock.advance(30_000);
        await writer.mergePatch(ref, {}, {}, NEVER);
        yield { state: 'refused', intentId: 'i', reason: 'Test', message: 'twice' };
      },
      [Symbol.asyncDispose]: async () => await Promise.resolve(),
    }),
  });
});
afterEach(async () => {
  await connections[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function deliver(): Promise<string[]> {
  const delivery = await connections.open({ mode: 'push', clusterId: RIGHT });
  const intent = { intent: { id: 'i' } } as unknown as Parameters<typeof delivery.deliver>[0][number];
  const told: string[] = [];
  for await (const receipt of delivery.deliver([intent], NEVER)) {
    told.push(receipt.state === 'retry' || receipt.state === 'refused' ? receipt.message : receipt.state);
  }
  return told;
}

const proofs = (): number => server.received.filter(({ url }) => url.includes('/clusters?')).length;
const writes = (): number => server.received.filter(({ method }) => method === 'PATCH').length;
const reach = async (): Promise<unknown> => {
  const row = await findPushCredential(store.db, RIGHT);
  const { state, other, message } = (row && reachOf(row)) ?? {};
  return [state, other, message?.slice(0, 43)];
};

it('holds for less than a minute, within a batch too, and is looked at in one small request', async () => {
  await deliver();
  expect([proofs(), writes()]).toEqual([1, 2]);
  await deliver();
  // 30 s on at its beginning; past the minute before its second write.
  expect([proofs(), writes()]).toEqual([2, 4]);
  expect(server.received.find(({ url }) => url.includes('/clusters?'))?.url).toContain('limit=10');
});

it('stops everything written by a connection that is warm, when another cluster answers', async () => {
  await deliver();
  there = 'c-another';
  clock.advance(60_000);
  expect(await deliver()).toEqual([expect.stringContaining('is that of another cluster')]);
  expect(writes()).toBe(2);
  expect(await reach()).toEqual(['failing', true, 'this API server is that of another cluster:']);
  expect(await mayPush(store.db, RIGHT, 1)).toBe(false);
  there = RIGHT;
  expect(await deliver()).toEqual(['twice']);
  expect(await reach()).toEqual(['ready', undefined, 'the API server answers, and it is this clus']);
  expect(await mayPush(store.db, RIGHT, 1)).toBe(true);
});

it('is had anew where another replica has found another cluster, although the last one still holds', async () => {
  await deliver();
  const other = {
    at: clock.now().toISOString(),
    state: 'failing',
    other: true,
    message: 'this API server is that of m',
  };
  await store.write(async (trx) => {
    await trx
      .updateTable('push_credentials')
      .set({ reach: JSON.stringify(other) })
      .execute();
  });
  there = 'c-another';
  expect(await deliver()).toEqual([expect.stringContaining('is that of another cluster')]);
  expect([proofs(), writes()]).toEqual([2, 2]);
});

it('says nothing of an object that waits alone', async () => {
  await deliver();
  retry = { state: 'retry', intentId: 'i', message: 'paused', alone: true };
  await deliver();
  expect((await reach()) as string[]).toEqual(['ready', undefined, 'the last delivery was taken']);
  retry = { state: 'retry', intentId: 'i', message: 'down' };
  await deliver();
  expect(await reach()).toEqual(['failing', undefined, 'down']);
});

it.each(['disabled_at', 'revoked_at'] as const)('counts for nothing in a cluster with %s', async (column) => {
  expect(await mayPush(store.db, RIGHT, 1)).toBe(true);
  await store.write(async (trx) => {
    await trx
      .updateTable('clusters')
      .set({ [column]: clock.now().toISOString() })
      .execute();
  });
  expect(await mayPush(store.db, RIGHT, 1)).toBe(false);
  expect(await deliver()).toEqual([expect.stringMatching(/is disabled|has its credentials revoked/)]);
  expect(proofs()).toBe(0);
});
