import type { DesiredSet } from '../../src/delivery/delivery.ts';
import type { StatusChange } from '../../src/events/report/reporter.ts';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import type { ApplyReport } from '../../src/reconcile/apply-report.ts';
import type { ClusterPolicy } from '../../src/policy/cluster-policy.ts';
import { Inventory } from '../../src/reconcile/inventory.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { refOf, type ObjectRef } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { anInstance, aPolicy, CLUSTER_ID } from './manifests.ts';
import { RecordingApi } from './recording-api.ts';
import { logger, startTestCluster, type TestCluster } from './test-cluster.ts';

export const podinfo: ObjectRef = refOf(anInstance());
const signal = new AbortController().signal;

/** A cluster, and the apply loop of an operator that can be restarted. */
export class ApplyStage implements AsyncDisposable {
  readonly cluster: TestCluster;
  recording: RecordingApi;
  inventory: Inventory;
  reported: StatusChange[] = [];
  policy: ClusterPolicy = aPolicy();

  constructor(cluster: TestCluster) {
    this.cluster = cluster;
    this.recording = new RecordingApi(cluster.api);
    this.inventory = this.#newInventory();
  }

  /** A new operator process on the same cluster. */
  async restart(): Promise<void> {
    this.recording = new RecordingApi(this.cluster.api);
    this.inventory = this.#newInventory();
    await this.inventory.load(signal);
    this.reported = [];
    this.recording.forget();
  }

  async apply(set: Partial<DesiredSet>): Promise<ApplyReport> {
    const loop = createApplyLoop({
      api: this.recording.api,
      inventory: this.inventory,
      reporter: { statusChanged: (change) => void this.reported.push(change) },
      clock: systemClock,
      logger,
      policy: () => this.policy,
    });
    return await loop.apply(
      { revision: 'rev-1', scope: 'complete', objects: [], removals: [], faults: [], ...set },
      signal,
    );
  }

  async read(name = 'podinfo'): Promise<ApplicationInstance | undefined> {
    return await this.cluster.api.get<ApplicationInstance>({ ...podinfo, name });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
  }

  #newInventory(): Inventory {
    return new Inventory({ api: this.recording.api, logger, clusterId: () => CLUSTER_ID });
  }
}

export async function setApplyStage(): Promise<ApplyStage> {
  const stage = new ApplyStage(await startTestCluster());
  await stage.restart();
  return stage;
}
