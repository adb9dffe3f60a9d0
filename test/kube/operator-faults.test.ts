import { copyFile } from 'node:fs/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { TOLERATED_MS } from '../../src/reconcile/watch-health.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, instanceRef, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const TIMEOUT = { timeout: START_TIMEOUT_MS + 60_000 };
const podinfo = instanceRef('podinfo');
const release = { ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' };
const account = { apiVersion: 'v1', kind: 'ServiceAccount', namespace: SYSTEM, name: 'service-operator' };

/** The same time, but a fault counts as lasting after half a second. */
const impatient: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(ms === TOLERATED_MS ? 500 : ms, signal),
};

describeRealCluster('an operator whose cluster is not as it should be', (start) => {
  let world: GrantedCluster | undefined;
  const begin = async (options: Parameters<typeof GrantedCluster.start>[1] = {}): Promise<GrantedCluster> => {
    world = await GrantedCluster.start(start, options);
    return world;
  };
  const running = async (): Promise<GrantedCluster> => {
    const world = await begin();
    world.startReleaseController();
    await world.join();
    await world.startOperator(impatient);
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    await world.install('podinfo');
    return world;
  };
  afterEach(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  it('says which definitions are missing, and takes up its work as each is installed', TIMEOUT, async () => {
    const world = await begin({ definitions: 'none' });
    await world.startOperator(impatient);
    await world.installDefinition('Cluster');
    await world.join();
    const missing = await world.untilCluster('ControllersHealthy', 'False DefinitionMissing');
    expect(missing.message).toContain('install its CustomResourceDefinition');
    await world.installDefinition('ApplicationInstance');
    await world.installDefinition('Operation');
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    const intent = await world.accept(INSTALL);
    const stalled = await world.until(podinfo, 'Stalled', 'True ReleaseControllerMissing');
    expect(stalled.message).toContain("install Flux' source-controller and helm-controller");
    await world.installFluxDefinitions();
    world.startReleaseController();
    await world.plane.until(intent, 'ready').catch(async () => await world.plane.until(intent, 'ready'));
    await world.until(podinfo, 'Ready', 'True HelmReleaseReady');
  });

  it(
    'lists what is left when its rights go in the middle of an uninstall, and ends it when they are back',
    TIMEOUT,
    async () => {
      const world = await running();
      const finalizers = (await world.read(release))?.metadata.finalizers ?? [];
      await world.admin.mergePatch(release, { metadata: { finalizers: [...finalizers, 'test.example/held'] } });
      const intent = await world.accept({ action: 'uninstall', namespace: 'shop', name: 'podinfo' });
      await world.until(podinfo, 'Reconciling', 'True Uninstalling');
      await world.withdraw('shop');
      await world.admin.mergePatch(release, { metadata: { finalizers: null } });
      await world.untilCluster('NamespacesGranted', 'False NamespaceNotGranted');
      const failed = await world.plane.until(intent, 'failed');
      expect(failed['reason']).toMatch(/^NamespaceNotGranted: .*servicectl namespaces add shop/);
      expect(failed['reason']).toContain('ApplicationInstance shop/podinfo');
      await world.addNamespace('shop');
      await world.untilGone(podinfo);
      await world.plane.until(intent, 'removed');
    },
  );

  it(
    'stands down and says so when its own account is gone, and goes on with a token of the new one',
    TIMEOUT,
    async () => {
      const world = await running();
      await world.admin.delete(account);
      const intent = await world.accept({ ...INSTALL, action: 'update', chartVersion: '6.6.1' });
      const readiness = async (): Promise<string> => await (await fetch(`${world.probesUrl}/readyz`)).text();
      await vi.waitFor(async () => expect(await readiness()).toContain('the Lease cannot be read or written'), {
        timeout: 40_000,
        interval: 100,
      });
      const { apiVersion, kind, namespace, name } = account;
      await world.apply([{ apiVersion, kind, metadata: { namespace, name } }]);
      const token = await world.real.serviceAccountToken(namespace, name);
      await copyFile(await world.real.kubeconfigFor(token), world.operatorKubeconfig);
      await vi.waitFor(
        async () => {
          const { body } = await world.plane.call('GET', `/intents/${intent}`);
          expect(body['state']).toBe('ready');
        },
        { timeout: 60_000, interval: 100 },
      );
      await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    },
  );
});
