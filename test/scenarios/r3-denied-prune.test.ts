import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import { Inventory } from '../../src/reconcile/inventory.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { anInstance, aPolicy, CLUSTER_ID, file } from '../reconcile/manifests.ts';
import { logger } from '../reconcile/test-cluster.ts';
import { ALLOWED, startWebhookServer, type WebhookServer } from '../support/cluster-contract/webhook-server.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';
import { fileOf, GitStage } from './git-stage.ts';

const DENIED = { allowed: false, status: { code: 403, message: 'not in working hours' } };

function guard({ url, ca }: WebhookServer): KubeObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'guard.example.com' },
    webhooks: [
      {
        name: 'guard.example.com',
        clientConfig: { url: `${url}/guard`, caBundle: ca },
        rules: [
          {
            apiGroups: ['apps.service.io'],
            apiVersions: ['*'],
            operations: ['DELETE'],
            resources: ['applicationinstances'],
          },
        ],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        timeoutSeconds: 2,
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}

it('R3: a prune that admission denies stays in the inventory, is reported, is tried again, and goes later', async () => {
  await using webhook = await startWebhookServer();
  await using stage = await GitStage.start(['a', 'b', 'c', 'd'], { prune_on_removal: true });
  const before = await stage.identities();
  webhook.reply = () => DENIED;
  await stage.world.cluster.api.create(guard(webhook), 'test');
  const revision = stage.push({ [fileOf('a')]: null, ...Object.fromEntries([stage.file({ name: 'e' })]) });
  expect(await stage.untilHeld('DeleteFailed')).toContain('not in working hours');
  // The others are not held up, and what was denied is no orphan: it is tried again by itself, over a restart too.
  await stage.untilReady('e');
  await expect.poll(() => webhook.reviews.length, { timeout: 15_000 }).toBeGreaterThan(1);
  await stage.world.restart();
  await stage.untilHeld('DeleteFailed');
  expect(await stage.identities()).toMatchObject(before);
  expect(
    (await stage.world.read()).status?.conditions?.find(({ type }) => type === 'RemovedWithoutTombstone')?.status,
  ).not.toBe('True');
  webhook.reply = () => ALLOWED;
  await stage.untilGone('a');
  await stage.untilApplied(revision);
  expect(stage.deletes.filter((path) => path.startsWith('helmreleases/'))).toEqual(['helmreleases/a']);
}, 90_000);

describeRealCluster('R3: on a real API server, a prune that admission denies', (start) => {
  let real: RealCluster;
  let api: ReturnType<typeof connectCluster>;
  let webhook: WebhookServer;

  beforeAll(async () => {
    real = await start();
    api = connectCluster({
      kubeconfig: { kind: 'text', yaml: real.kubeconfig },
      userAgent: 'test',
      clock: systemClock,
      random: Math.random,
    });
    webhook = await startWebhookServer();
    await installDefinitions(api, { own: true });
    for (const name of ['service-system', 'shop']) {
      const labels = name === 'shop' ? { 'managed-by': 'service' } : {};
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }, 'test');
    }
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await webhook?.[Symbol.asyncDispose]();
    await api?.[Symbol.asyncDispose]();
    await real?.[Symbol.asyncDispose]();
  });

  it(
    'stays in the inventory, is reported, is tried again, and goes later by its UID',
    { timeout: 60_000 },
    async () => {
      const { signal } = new AbortController();
      const inventory = new Inventory({ api, logger, clusterId: () => CLUSTER_ID });
      await inventory.load(signal);
      const loop = createApplyLoop({ api, inventory, clock: systemClock, logger, policy: () => aPolicy() });
      const set = { revision: 'rev-1', scope: 'complete' as const, removals: [], faults: [] };
      await loop.apply({ ...set, objects: [file(), file({ name: 'other' })] }, signal);
      const uid = inventory.records().find(({ name }) => name === 'podinfo')?.uid ?? '';
      const key = 'apps/shop/podinfo.yaml';
      webhook.reply = () => DENIED;
      await api.create(guard(webhook), 'test');
      const gone = { ...set, revision: 'rev-2', objects: [file({ name: 'other' })], prunes: [{ key, uid }] };
      const ref = {
        apiVersion: 'apps.service.io/v1alpha1',
        kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'podinfo',
      };
      // A configuration is in force a moment after it was made: another object tells when.
      const probe = async (): Promise<boolean> => {
        await api.create(anInstance({ name: 'probe' }), 'test').catch(() => undefined);
        return await denied(async () => await api.delete({ ...ref, name: 'probe' }));
      };
      await expect.poll(probe, { timeout: 15_000 }).toBe(true);
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const { outcomes, retryable, removedWithoutTombstone } = await loop.apply(gone, signal);
        expect(outcomes.get(key)).toMatchObject({
          state: 'failed',
          reason: 'DeleteFailed',
          message: expect.stringContaining('not in working hours'),
        });
        expect([retryable, removedWithoutTombstone, inventory.find(ref)?.uid]).toEqual([true, [], uid]);
      }
      webhook.reply = () => ALLOWED;
      expect((await loop.apply(gone, signal)).outcomes.get(key)).toMatchObject({ state: 'deleted', ref: { uid } });
      expect([await api.get(ref), inventory.find(ref)]).toEqual([undefined, undefined]);
    },
  );
});

async function denied(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return false;
  } catch {
    return true;
  }
}
