import type { DeliveryItem, Receipt } from '../../../src/delivery/delivery.ts';
import { PushDelivery, type PushApi } from '../../../src/delivery/push/push-delivery.ts';
import { PushSlots } from '../../../src/delivery/push/push-slots.ts';
import type { IntentRecord } from '../../../src/intent/intent-record.ts';
import { renderIntent } from '../../../src/intent/render.ts';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster, type ClusterConnection } from '../../../src/kube/connect-cluster.ts';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { inputs, install, target } from '../../intent/podinfo-intent.ts';
import { installDefinitions } from '../install-definitions.ts';

export interface StagedCluster extends AsyncDisposable {
  readonly kubeconfig: string;
}

export type Asked = Partial<IntentRecord> & {
  readonly epoch?: number;
  readonly uid?: string;
  readonly isHandover?: true;
  readonly wasApplied?: true;
};

/** Kinds and places of what the tests deliver. */
export const APP = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop' };
export const OPERATION = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop' };

/** An intent of generation 1 and epoch 2, rendered; what is said overrides. */
export function item({ epoch = 2, uid, isHandover, wasApplied, ...said }: Asked): DeliveryItem {
  const { catalogEntry, chartVersion, values, ...common } = install;
  const isInstance = said.action === undefined || said.action === 'install' || said.action === 'update';
  const record = { ...common, ...(isInstance ? { catalogEntry, chartVersion, values } : {}), generation: 1, ...said };
  const with_ = { ...(isInstance ? inputs : {}), ...(uid === undefined ? {} : { uid }) };
  const rendered = renderIntent(record, { ...target, deliveryEpoch: epoch }, with_);
  return { ...rendered, ...(isHandover && { isHandover }), ...(wasApplied && { wasApplied }) };
}

/** A cluster with the definitions, a namespace, and push mode's writer of one cluster. */
export class PushStage implements AsyncDisposable {
  readonly admin: ClusterConnection;
  readonly delivery: PushDelivery;
  /** Requests that may change something, since `writes` was last read. */
  #writes = 0;
  /** Called after each GET of an object, before its answer is looked at. */
  afterGet: ((read: number) => Promise<void>) | undefined;
  /** What the database says. */
  mayWrite: (epoch: number) => boolean | Promise<boolean> = () => true;
  readonly #cluster: StagedCluster;
  readonly #connection: ClusterConnection;
  #reads = 0;

  private constructor(cluster: StagedCluster, kubeconfig: string) {
    const connect = (yaml: string): ClusterConnection =>
      connectCluster({
        kubeconfig: { kind: 'text', yaml },
        userAgent: 'push',
        clock: systemClock,
        random: Math.random,
      });
    this.#cluster = cluster;
    this.admin = connect(cluster.kubeconfig);
    this.#connection = connect(kubeconfig);
    this.delivery = new PushDelivery({
      clusterId: target.clusterId,
      api: this.#watched(),
      mayWrite: async (_clusterId, epoch) => {
        this.#writes += 1;
        return await this.mayWrite(epoch);
      },
      slots: new PushSlots({ clock: systemClock }),
    });
  }

  /** @param kubeconfig of the writer; default: the admin's */
  static async start(start: () => Promise<StagedCluster>, kubeconfig?: string): Promise<PushStage> {
    const cluster = await start();
    const stage = new PushStage(cluster, kubeconfig ?? cluster.kubeconfig);
    await installDefinitions(stage.admin);
    const metadata = { name: 'shop', labels: { 'managed-by': 'service' } };
    await stage.admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata }, 'test');
    return stage;
  }

  get writes(): number {
    const writes = this.#writes;
    this.#writes = 0;
    return writes;
  }

  async deliver(...batch: readonly DeliveryItem[]): Promise<Receipt[]> {
    this.#reads = 0;
    return await Array.fromAsync(this.delivery.deliver(batch, AbortSignal.timeout(60_000)));
  }

  async read(name: string, kind = APP): Promise<KubeObject | undefined> {
    return await this.admin.get<KubeObject>({ ...kind, name });
  }

  /** As the operator would. */
  async apply(object: KubeObject, fieldManager: string): Promise<KubeObject> {
    return (await this.admin.apply<KubeObject>(object, { fieldManager })).object;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin[Symbol.asyncDispose]();
    await this.#connection[Symbol.asyncDispose]();
    await this.#cluster[Symbol.asyncDispose]();
  }

  #watched(): PushApi {
    const connection = this.#connection;
    const watched = (api: ClusterApi): ClusterApi => ({
      ...api,
      get: async <T extends KubeObject>(ref: ObjectRef, signal?: AbortSignal) => {
        const found = await api.get<T>(ref, signal);
        this.#reads += 1;
        await this.afterGet?.(this.#reads);
        return found;
      },
    });
    return { ...watched(connection), guarded: (mayWrite) => watched(connection.guarded(mayWrite)) };
  }
}

/** By `manager operation[/subresource]`, without times. */
export function ownersOf({ metadata }: KubeObject): Record<string, unknown> {
  return Object.fromEntries(
    (metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager} ${operation}${subresource === undefined ? '' : `/${subresource}`}`,
      fieldsV1,
    ]),
  );
}
