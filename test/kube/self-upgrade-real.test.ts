import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderOperator } from '../../src/install/render-install.ts';
import { OPERATOR_VERSION } from '../../src/operator/operator-version.ts';
import type { DeploymentObject } from '../../src/operator/rollout.ts';
import { refOf } from '../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { GrantedCluster, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const EARLIER = '0.1.0';
const DEPLOYMENT = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: SYSTEM, name: 'service-operator' };
const overlay = renderOperator(readInstallFiles(), { allowUpgrade: true }).objects.filter(
  ({ metadata }) => metadata.name === 'service-operator-upgrade',
);

/** The same time, but what is looked at every five seconds or every minute is looked at five times a second. */
const hasty: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(ms === 5000 || ms === 60_000 ? 200 : ms, signal),
};

describeRealCluster("an upgrade of the operator under the manifest's own rights", (start) => {
  let world: GrantedCluster;
  const ask = async (operatorVersion: string | null): Promise<void> => {
    const { status } = await world.plane.call('PATCH', `/clusters/${world.clusterId}`, { operatorVersion });
    expect(status).toBe(200);
  };
  const deployment = async (): Promise<DeploymentObject> => {
    const found = await world.admin.get<DeploymentObject>(DEPLOYMENT);
    if (found === undefined) throw new Error('there is no Deployment');
    return found;
  };
  const imageOf = ({ spec }: DeploymentObject): string | undefined => spec?.template?.spec?.containers?.[0]?.image;
  /** As the Deployment's controller, which does not run here, would write it. */
  const rollout = async (status: Record<string, unknown>): Promise<void> => {
    const { generation } = (await deployment()).metadata;
    const seen = { observedGeneration: generation, ...status };
    await world.admin.mergePatch(DEPLOYMENT, { status: seen }, { subresource: 'status' });
  };
  const untilSaid = async (said: string, message: string): Promise<void> => {
    await vi.waitFor(
      async () => expect((await world.untilCluster('OperatorUpToDate', said)).message).toContain(message),
      { timeout: 20_000, interval: 50 },
    );
  };

  beforeAll(async () => {
    world = await GrantedCluster.start(start);
    await world.join();
    await world.startOperator(hasty);
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  it('is refused without the Role, done with it, told of when it fails, and taken back by another request', async () => {
    const before = await deployment();
    const replicas = before.spec?.replicas ?? 1;
    expect(imageOf(before)).toBe(`service-operator:${OPERATOR_VERSION}`);

    await ask(EARLIER);
    const command = 'kubectl -n service-system set image deployment/service-operator operator=';
    await untilSaid('False UpgradeNotAllowed', `${command}<repository>:${EARLIER}`);
    expect((await deployment()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);

    await world.apply(overlay);
    await untilSaid('False UpgradeInProgress', 'the change has not been seen yet');
    const given = await deployment();
    expect(imageOf(given)).toBe(`service-operator:${EARLIER}`);
    expect(given.metadata.generation).toBe((before.metadata.generation ?? 0) + 1);

    const counts = { replicas: replicas + 1, updatedReplicas: 1, readyReplicas: replicas };
    await rollout(counts);
    await untilSaid(
      'False UpgradeInProgress',
      `To ${EARLIER}: 1 of ${replicas} pods are new, ${replicas} of ${replicas + 1}`,
    );
    const type = 'Progressing';
    const late = { type, status: 'False', reason: 'ProgressDeadlineExceeded', message: 'has timed out progressing' };
    await rollout({ ...counts, conditions: [late] });
    await untilSaid(
      'False UpgradeFailed',
      `The pods of ${EARLIER} do not become ready: has timed out progressing. ${OPERATOR_VERSION} goes on.`,
    );
    // It takes nothing back by itself.
    expect(imageOf(await deployment())).toBe(`service-operator:${EARLIER}`);

    await ask(OPERATOR_VERSION);
    await untilSaid('False UpgradeInProgress', 'the change has not been seen yet');
    expect(imageOf(await deployment())).toBe(`service-operator:${OPERATOR_VERSION}`);
    await rollout({ replicas, updatedReplicas: replicas, readyReplicas: replicas, conditions: null });
    await untilSaid('True OperatorCurrent', `Version ${OPERATOR_VERSION} runs`);
  });

  it('names the pods that cannot be made, and is not allowed any more when the Role is taken away', async () => {
    await world.apply(overlay);
    await ask(EARLIER);
    await untilSaid('False UpgradeInProgress', 'the change has not been seen yet');
    const quota = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: pods' };
    await rollout({ conditions: [quota] });
    await untilSaid('False UpgradeFailed', 'exceeded quota: pods');
    for (const object of overlay) await world.admin.delete(refOf(object));
    const stuck = await deployment();
    await ask('0.1.1');
    await untilSaid('False UpgradeNotAllowed', ':0.1.1');
    expect((await deployment()).metadata.resourceVersion).toBe(stuck.metadata.resourceVersion);
    await ask(null);
    await untilSaid('True NoVersionDesired', 'The control plane asks for no version.');
  });
});
