import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, instanceRef, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const PAUSED = 'ops.service.io/paused';
const shop = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
const cluster = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', namespace: SYSTEM, name: 'eu' };
const podinfo = instanceRef('podinfo');
const release = { ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' };
const UPDATE = { ...INSTALL, action: 'update' };
const TIMEOUT = { timeout: 60_000 };

describeRealCluster('what people do by hand in a cluster', (start) => {
  let world: GrantedCluster;
  /** What the control plane knows of the Cluster. */
  const reported = async (type: string): Promise<Condition | undefined> => {
    const { body } = await world.plane.call('GET', `/clusters/${world.clusterId}`);
    return findCondition(body['conditions'] as readonly Condition[], type);
  };
  const versions = async (): Promise<unknown> => [
    (await world.read(podinfo))?.metadata.resourceVersion,
    (await world.read(release))?.metadata.resourceVersion,
  ];

  beforeAll(async () => {
    world = await GrantedCluster.start(start);
    world.startReleaseController();
    await world.addNamespace('yard');
    await world.join();
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    await world.install('podinfo');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  it('a pause of the Cluster stops everything but contact, and its end is noticed at once', TIMEOUT, async () => {
    await world.annotate(cluster, { [PAUSED]: 'true' });
    const before = await versions();
    const intent = await world.accept({ ...UPDATE, chartVersion: '6.6.1' });
    const { message } = await world.untilCluster('Synced', 'False Paused');
    expect(message).toContain(`Cluster: Paused: writes are paused by ${PAUSED} on Cluster eu (set by kubectl-annotate`);
    expect(message).toContain(`kubectl annotate -n ${SYSTEM} cluster.ops.service.io eu ${PAUSED}-`);
    await vi.waitFor(async () => expect((await reported('Synced'))?.reason).toBe('Paused'), 10_000);
    expect(await versions()).toEqual(before);
    await world.annotate(cluster, { [PAUSED]: null });
    await world.plane.until(intent, 'ready');
    await world.untilCluster('Synced', 'True Applied');
  });

  it.each([
    ['a namespace', shop],
    ['an object', podinfo],
  ])('a pause of %s holds back deliveries and edits of the release, and says so', TIMEOUT, async (_, where) => {
    await world.annotate(where, { [PAUSED]: 'true' });
    await world.until(podinfo, 'Reconciling', 'False Paused');
    const intent = await world.accept({ ...UPDATE, values: { replicaCount: 2 }, reason: where.kind });
    const synced = await world.untilCluster('Synced', 'False Paused');
    expect(synced.message).toContain(`on ${where.kind} ${where.name} (set by kubectl-annotate`);
    await world.admin.mergePatch(release, { spec: { suspend: true } }, { fieldManager: 'eve' });
    const before = await versions();
    // Somebody else's pass goes all the way through behind it.
    await world.install(`beside-${where.kind.toLowerCase()}`, 'yard');
    expect(await versions()).toEqual(before);
    await world.annotate(where, { [PAUSED]: null });
    await world.admin.mergePatch(release, { spec: { suspend: null } }, { fieldManager: 'eve' });
    await world.plane.until(intent, 'ready');
  });

  it('an instance that was deleted without a tombstone comes back, with its release as it was', TIMEOUT, async () => {
    const uid = (await world.read(podinfo))?.metadata.uid;
    const before = (await world.read(release))?.metadata.uid;
    await world.admin.delete(podinfo);
    await vi.waitFor(
      async () => {
        const now = await world.read(podinfo);
        expect([now === undefined, now?.metadata.uid === uid]).toEqual([false, false]);
      },
      { timeout: 15_000, interval: 50 },
    );
    await world.until(podinfo, 'Ready', 'True HelmReleaseUpgraded');
    expect((await world.read(release))?.metadata.uid).toBe(before);
  });

  it(
    'an edit of a delivered field is named at once with its manager, and nothing is written over it',
    TIMEOUT,
    async () => {
      await world.admin.mergePatch(
        podinfo,
        { spec: { values: { replicaCount: 7 } } },
        { fieldManager: 'kubectl-edit' },
      );
      const { message } = await world.untilCluster('Synced', 'False ApplyConflict', 10_000);
      expect(message).toContain('field manager "kubectl-edit" owns .spec.values.replicaCount');
      await world.admin.mergePatch(
        podinfo,
        { spec: { values: { replicaCount: null } } },
        { fieldManager: 'kubectl-edit' },
      );
      await world.untilCluster('Synced', 'True Applied', 10_000);
      expect((await world.read(podinfo))?.['spec']).toMatchObject({ values: { replicaCount: 2 } });
    },
  );

  it(
    'an edit of a field that cannot be left out is given up by the command in the message, for good',
    TIMEOUT,
    async () => {
      const before = (await world.read(podinfo)) as ApplicationInstance | undefined;
      const delivered = before?.spec.chart.version;
      await world.admin.mergePatch(podinfo, { spec: { chart: { version: '6.5.9' } } }, { fieldManager: "eve's" });
      const { message = '' } = await world.untilCluster('Synced', 'False ApplyConflict', 10_000);
      expect(message).toContain(
        `field manager "eve's" owns .spec.chart.version; to give what is set there up for what is delivered: ` +
          'kubectl -n shop patch applicationinstance.apps.service.io podinfo --type=json -p',
      );
      const patch = /-p '(.*)'/.exec(message)?.[1]?.replaceAll(String.raw`'\''`, "'") ?? '';
      await world.admin.jsonPatch(podinfo, JSON.parse(patch), { fieldManager: 'kubectl-patch' });
      await world.untilCluster('Synced', 'True Applied', 10_000);
      const live = await world.read(podinfo);
      expect(live?.['spec']).toMatchObject({ chart: { version: delivered } });
      expect(live?.metadata.managedFields?.map(({ manager }) => manager)).not.toContain("eve's");
      const next = delivered === '6.6.1' ? '6.5.0' : '6.6.1';
      await world.plane.until(await world.accept({ ...UPDATE, chartVersion: next }), 'ready');
    },
  );
});
