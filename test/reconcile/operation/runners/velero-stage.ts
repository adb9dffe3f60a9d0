import type { ClusterApi } from '../../../../src/kube/cluster-api.ts';
import { VELERO_BACKUP, VELERO_RESTORE, VELERO_STORAGE_LOCATION } from '../../../../src/resources/velero.ts';
import { systemClock } from '../../../../src/runtime/clock.ts';
import { startVeleroController } from '../../../../src/sandbox/velero-controller/start-velero-controller.ts';
import { installVelero } from '../../../support/velero-definitions.ts';
import { aNamespace } from '../../manifests.ts';
import { logger, startTestCluster, type TestCluster } from '../../test-cluster.ts';

/** A cluster with Velero's kinds, a place for backups and the stand-in for its server, which can be restarted. */
export class VeleroStage implements AsyncDisposable {
  readonly cluster: TestCluster;
  #velero: AsyncDisposable | undefined;

  private constructor(cluster: TestCluster) {
    this.cluster = cluster;
  }

  static async set(): Promise<VeleroStage> {
    const stage = new VeleroStage(await startTestCluster());
    await installVelero(stage.api);
    await stage.cluster.sandbox.settled();
    await stage.api.create(aNamespace('velero', { labels: {} }), 'test');
    await stage.api.create(aNamespace('yard'), 'test');
    const spec = { provider: 'sandbox', objectStorage: { bucket: 'b' }, default: true };
    const metadata = { namespace: 'velero', name: 'default' };
    await stage.api.create({ ...VELERO_STORAGE_LOCATION, metadata, spec }, 'test');
    await stage.startVelero();
    return stage;
  }

  get api(): ClusterApi {
    return this.cluster.api;
  }

  async startVelero(): Promise<void> {
    const timing = { backupMs: 0, restoreMs: 0 };
    const velero = startVeleroController({ api: this.api, clock: systemClock, logger, timing, random: () => 0 });
    this.#velero = velero;
    await velero.synced();
  }

  async stopVelero(): Promise<void> {
    await this.#velero?.[Symbol.asyncDispose]();
    this.#velero = undefined;
  }

  /** Annotates the place for backups: it says how what is done with it ends. */
  async steer(annotations: Record<string, string | null>): Promise<void> {
    const ref = { ...VELERO_STORAGE_LOCATION, namespace: 'velero', name: 'default' };
    await this.api.mergePatch(ref, { metadata: { annotations } });
  }

  async backup(name: string) {
    return await this.api.get({ ...VELERO_BACKUP, namespace: 'velero', name });
  }

  async restore(name: string) {
    return await this.api.get({ ...VELERO_RESTORE, namespace: 'velero', name });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopVelero();
    await this.cluster[Symbol.asyncDispose]();
  }
}
