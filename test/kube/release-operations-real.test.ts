import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { HELM_RELEASE, type HelmRelease } from '../../src/resources/flux-helm-release.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, instanceRef } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

describeRealCluster('operations on releases on a real API server', (start) => {
  let world: GrantedCluster;

  beforeAll(async () => {
    world = await GrantedCluster.start(start);
    world.startReleaseController();
    const allowedOperationTemplates = ['release-rollback', 'release-reconcile'];
    await world.plane.call('PATCH', `/clusters/${world.clusterId}`, { allowedOperationTemplates });
    await world.handOverToken();
    await world.join({ withToken: false });
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const podinfo = instanceRef('podinfo');
  const history = async (): Promise<readonly string[]> => {
    const release = await world.admin.get<HelmRelease>({ ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' });
    const entries = release?.status?.history ?? [];
    return entries.map(({ version, chartVersion, status }) => `v${version} ${chartVersion.split('+')[0]} ${status}`);
  };
  const operate = async (name: string, operationTemplate: string, parameters: object): Promise<void> =>
    await world.bring({ action: 'operate', namespace: 'shop', name, operationTemplate, parameters }, 'ready');

  it('take an application back until its next intent, and have Flux look at it', { timeout: 120_000 }, async () => {
    await world.install('podinfo');
    await world.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    await operate('undo', 'release-rollback', { application: 'podinfo' });
    const back = await world.until(podinfo, 'Ready', 'True HelmReleaseRolledBack');
    expect(back.message).toContain('taken back to 6.5.0 by operation undo, until the next intent');
    expect((await world.admin.get<ApplicationInstance>(podinfo))?.spec.chart.version).toBe('6.6.1');
    await expect(history()).resolves.toEqual(['v3 6.5.0 deployed', 'v2 6.6.1 superseded']);
    await operate('look', 'release-reconcile', { application: 'podinfo', force: true });
    const [latest] = await history();
    expect(latest).toBe('v4 6.5.0 deployed');
    await world.stopOperator();
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    await world.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1', values: { replicaCount: 2 } }, 'ready');
    await world.until(podinfo, 'Ready', 'True HelmReleaseUpgraded');
    expect((await history())[0]).toBe('v5 6.6.1 deployed');
  });
});
