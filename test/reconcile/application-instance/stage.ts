import { deepEqual } from 'node:assert/strict';
import { vi } from 'vitest';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import type { ApplicationInstance } from '../../../src/resources/application-instance.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import { HELM_RELEASE } from '../../../src/resources/flux-helm-release.ts';
import { HELM_REPOSITORY } from '../../../src/resources/flux-helm-repository.ts';
import { OCI_REPOSITORY } from '../../../src/resources/flux-oci-repository.ts';
import { refOf, type ObjectRef } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { ChartShelf, replicaCountIsNotNatural } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import {
  startReleaseController,
  type ReleaseController,
} from '../../../src/sandbox/release-controller/start-release-controller.ts';
import { anInstance, CHART_URL, type InstanceOptions } from '../manifests.ts';
import type { Recorded } from '../recording-api.ts';
import { logger, startTestCluster, type TestCluster } from '../test-cluster.ts';
import { startOperator, type Keys, type Operator } from './operator.ts';

export const HELM_URL = 'https://charts.test/stable';
export const names = { namespace: 'shop', name: 'podinfo' };
export const instance: ObjectRef = refOf(anInstance());
export const release: ObjectRef = { ...HELM_RELEASE, ...names };
export const ociRepository: ObjectRef = { ...OCI_REPOSITORY, ...names };
export const helmRepository: ObjectRef = { ...HELM_REPOSITORY, ...names };

const WAIT = { timeout: 30_000, interval: 5 };

/** A cluster with a release controller that takes no time, and an operator that can be restarted. */
export class Stage implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly flux: ReleaseController;
  operator: Operator;

  constructor(cluster: TestCluster, flux: ReleaseController, operator: Operator) {
    this.cluster = cluster;
    this.flux = flux;
    this.operator = operator;
  }

  /** A new operator process on the same cluster. */
  async restart(
    options: { readonly api?: ClusterApi; readonly beforeWrite?: (write: Recorded) => void; readonly keys?: Keys } = {},
  ) {
    await this.operator[Symbol.asyncDispose]();
    const { api = this.cluster.api, ...rest } = options;
    this.operator = await startOperator(api, rest);
  }

  /** As the apply loop delivers. */
  async deliver(options: InstanceOptions = {}): Promise<void> {
    await this.cluster.api.apply(anInstance(options), { fieldManager: 'service-operator' });
  }

  async read(): Promise<ApplicationInstance> {
    const live = await this.cluster.api.get<ApplicationInstance>(instance);
    if (live === undefined) throw new Error('there is no instance');
    return live;
  }

  /** Waits until the status is about this intent and its condition says so. */
  async until(intentId: string, type: string, reason: string): Promise<ApplicationInstance> {
    return await vi.waitFor(async () => {
      const live = await this.read();
      const said = findCondition(live.status?.conditions, type)?.reason;
      deepEqual([live.status?.source?.intentId, said], [intentId, reason]);
      return live;
    }, WAIT);
  }

  async untilGone(ref: ObjectRef): Promise<void> {
    await vi.waitFor(async () => deepEqual(await this.cluster.api.get(ref), undefined), WAIT);
  }

  async uninstall(intentId = 'int-9'): Promise<void> {
    const annotations = { 'app.service.io/tombstone': intentId };
    await this.cluster.api.mergePatch(instance, { metadata: { annotations } });
    await this.cluster.api.delete(instance);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.operator[Symbol.asyncDispose]();
    await this.flux[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}

export async function setStage(): Promise<Stage> {
  const cluster = await startTestCluster();
  const chart = (url: string, version: string) => {
    return { url, version, name: 'podinfo', appVersion: version, validate: replicaCountIsNotNatural };
  };
  const charts = ['6.5.0', '6.6.0', '6.6.1'].map((version) => chart(CHART_URL, version));
  const flux = startReleaseController({
    api: cluster.api,
    clock: systemClock,
    logger,
    charts: new ChartShelf([...charts, chart(HELM_URL, '6.6.1')]),
    timing: { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 },
  });
  return new Stage(cluster, flux, await startOperator(cluster.api));
}

/** `<type>: <status> <reason>`. */
export function conditionsOf(live: ApplicationInstance): Record<string, string> {
  return Object.fromEntries(
    (live.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );
}
