import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ChartShelf } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../src/sandbox/release-controller/start-release-controller.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { GrantedCluster, SYSTEM } from '../support/granted-cluster.ts';
import type { RealCluster, RealClusterOptions } from '../support/real-cluster/real-cluster.ts';
import { OperatorWorld } from './operator-world.ts';
import type { ReplicaPlace } from './replicas.ts';

/** A cluster that joins a real control plane and has releases made in it, for operators that are processes of their own. */
export interface FailoverStage extends AsyncDisposable {
  /** As an admin. */
  readonly api: ClusterApi;
  readonly plane: RunningControlPlane;
  readonly clusterId: string;
  readonly place: ReplicaPlace;
}

/** On the sandbox, with an admin's rights. */
export async function sandboxStage(): Promise<FailoverStage> {
  await using owned = new AsyncDisposableStack();
  const plane = owned.use(await RunningControlPlane.start());
  const world = owned.use(await OperatorWorld.start());
  const kubeconfig = world.cluster.sandbox.kubeconfig();
  const api = owned.use(
    connectCluster({
      kubeconfig: { kind: 'text', yaml: kubeconfig },
      userAgent: 'release-controller',
      clock: systemClock,
      random: Math.random,
    }),
  );
  const timing = { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 };
  const logger = createLogger('test', 'silent');
  owned.use(startReleaseController({ api, clock: systemClock, logger, charts: new ChartShelf(), timing }));
  await plane.putPodinfo();
  const clusterId = await plane.newCluster('eu');
  await plane.call('PATCH', `/clusters/${clusterId}`, { intervals: { eventBatchMs: 20 } });
  const issued = await plane.call('POST', `/clusters/${clusterId}/registration-token`);
  await world.join(plane.url, String(issued.body['registrationToken']));
  const place = { url: world.cluster.sandbox.url, kubeconfig, folder: world.stateDir };
  return stageOf({ api: world.cluster.api, plane, clusterId, place }, owned.move());
}

/** On a real API server, with exactly the rights that the manifest gives. */
export async function realStage(start: (options?: RealClusterOptions) => Promise<RealCluster>): Promise<FailoverStage> {
  await using owned = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'failover-'));
  owned.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const world = owned.use(await GrantedCluster.start(start));
  world.startReleaseController();
  await world.join();
  const { real, admin, plane, clusterId } = world;
  const path = await real.kubeconfigFor(await real.serviceAccountToken(SYSTEM, 'service-operator'));
  const place = { url: real.url, caPem: real.caPem, kubeconfig: readFileSync(path, 'utf8'), folder };
  return stageOf({ api: admin, plane, clusterId, place }, owned.move());
}

function stageOf(parts: Omit<FailoverStage, typeof Symbol.asyncDispose>, owned: AsyncDisposableStack): FailoverStage {
  return { ...parts, [Symbol.asyncDispose]: async () => await owned.disposeAsync() };
}
