import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, instanceRef } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const yard = { apiVersion: 'v1', kind: 'Namespace', name: 'yard' };
const TIMEOUT = { timeout: 90_000 };

describeRealCluster(
  'an operator under exactly the rights of its manifest',
  (start) => {
    let world: GrantedCluster;

    beforeAll(async () => {
      world = await GrantedCluster.start(start, { controllerManager: true });
      world.startReleaseController();
      await world.join();
      await world.startOperator();
      await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });

    it('installs in a granted namespace, and names those that are allowed and not there', TIMEOUT, async () => {
      await world.install('podinfo');
      const { message } = await world.untilCluster('NamespacesGranted', 'True NamespacesGranted');
      expect(message).toBe('granted: shop; allowed, and not there or not labelled: yard');
    });

    it('says NamespaceNotGranted where the RoleBinding is missing, and goes on when it comes', TIMEOUT, async () => {
      await world.addNamespace('yard', 'labelled');
      const { message } = await world.untilCluster('NamespacesGranted', 'False NamespaceNotGranted');
      expect(message).toContain('servicectl namespaces add yard');
      const intent = await world.accept({ ...INSTALL, namespace: 'yard', name: 'late' });
      const synced = await world.untilCluster('Synced', 'False NamespaceNotGranted');
      expect(synced.message).toMatch(/apps\/yard\/late\.yaml: NamespaceNotGranted: .*servicectl namespaces add yard/);
      expect(await world.read(instanceRef('late', 'yard'))).toBeUndefined();
      await world.addNamespace('yard');
      const since = Date.now();
      await vi.waitFor(
        async () => {
          const { body } = await world.plane.call('GET', `/intents/${intent}`);
          expect(body['state']).toBe('ready');
        },
        { timeout: 25_000, interval: 50 },
      );
      // 15 s until the grant is noticed, and the installation.
      expect(Date.now() - since).toBeLessThan(20_000);
      await world.untilCluster('NamespacesGranted', 'True NamespacesGranted');
    });

    it(
      'tells the control plane alone when the RoleBinding is taken away, and takes it back later',
      TIMEOUT,
      async () => {
        const ready = async (): Promise<string | undefined> => {
          const { body } = await world.plane.call('GET', `/clusters/${world.clusterId}/conditions`);
          const items = body['items'] as readonly { resourceRef: { name: string }; conditions: readonly Condition[] }[];
          return findCondition(items.find(({ resourceRef }) => resourceRef.name === 'late')?.conditions, 'Ready')
            ?.reason;
        };
        await world.withdraw('yard');
        await world.accept({ ...INSTALL, namespace: 'yard', name: 'late', action: 'update', values: { a: 1 } });
        await world.untilCluster('NamespacesGranted', 'False NamespaceNotGranted');
        await vi.waitFor(async () => expect(await ready()).toBe('NamespaceNotGranted'), { timeout: 20_000 });
        await world.addNamespace('yard');
        await vi.waitFor(async () => expect(await ready()).toBe('HelmReleaseUpgraded'), { timeout: 30_000 });
      },
    );

    it('stops where the label is gone, deletes nothing, and goes on when it is back', TIMEOUT, async () => {
      const release = { ...HELM_RELEASE, namespace: 'yard', name: 'late' };
      const uid = (await world.read(release))?.metadata.uid;
      await world.admin.mergePatch(yard, { metadata: { labels: { 'managed-by': null } } });
      const said = await world.until(instanceRef('late', 'yard'), 'Stalled', 'True NamespaceNotLabelled');
      expect(said.message).toContain('kubectl label namespace yard managed-by=service');
      expect((await world.read(release))?.metadata.uid).toBe(uid);
      await world.admin.mergePatch(yard, { metadata: { labels: { 'managed-by': 'service' } } });
      await world.until(instanceRef('late', 'yard'), 'Ready', 'True HelmReleaseUpgraded');
      expect((await world.read(release))?.metadata.uid).toBe(uid);
    });

    it('lets a namespace go that is deleted with instances in it', TIMEOUT, async () => {
      await world.admin.delete(yard);
      await world.untilGone(yard, 60_000);
      await world.until(instanceRef('podinfo'), 'Ready', 'True HelmReleaseReady');
    });
  },
  { needs: ['controller-manager'] },
);
