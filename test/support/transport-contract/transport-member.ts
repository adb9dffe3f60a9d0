import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { startOperator, type Operator } from '../../../src/operator/start-operator.ts';
import type { Condition } from '../../../src/protocol/condition.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import { HELM_RELEASE } from '../../../src/resources/flux-helm-release.ts';
import { OCI_REPOSITORY } from '../../../src/resources/flux-oci-repository.ts';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { APPS_API_VERSION, OPERATOR_NAMESPACE, OPS_API_VERSION } from '../../../src/resources/labels.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ChartShelf, demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../../src/sandbox/release-controller/start-release-controller.ts';
import { startWorkloadController } from '../../../src/sandbox/workload-controller/start-workload-controller.ts';
import { INSTALL, type Answer, type RunningControlPlane } from '../../control-plane/running-control-plane.ts';
import { FaultyProxy } from '../faulty-proxy.ts';
import { SHOP, type TransportCluster } from './transport-cluster.ts';
import type { Transport } from './transports.ts';

const logger = createLogger('test', 'silent');
/** Every step is asked for until it is there: patience costs nothing where all goes well. */
export const WITHIN = { timeout: 40_000, interval: 20 };

export const instanceRef = (name: string): ObjectRef => ({
  apiVersion: APPS_API_VERSION,
  kind: 'ApplicationInstance',
  namespace: SHOP,
  name,
});
export const releaseRef = (name: string): ObjectRef => ({ ...HELM_RELEASE, namespace: SHOP, name });
export const sourceRef = (name: string): ObjectRef => ({ ...OCI_REPOSITORY, namespace: SHOP, name });

type WithStatus = KubeObject & {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly Condition[] };
};

/** One cluster of a control plane: its operator, its release controller, and everyone's way to everyone. */
export class TransportMember implements AsyncDisposable {
  readonly plane: RunningControlPlane;
  readonly cluster: TransportCluster;
  readonly slug: string;
  /** Between the operator and the control plane. */
  readonly contact: FaultyProxy;
  id = '';
  readonly #stateDir = mkdtempSync(join(tmpdir(), 'member-'));
  readonly #owned: AsyncDisposableStack;
  #operator: Operator | undefined;

  private constructor(
    place: { readonly plane: RunningControlPlane; readonly cluster: TransportCluster; readonly slug: string },
    contact: FaultyProxy,
    owned: AsyncDisposableStack,
  ) {
    this.plane = place.plane;
    this.cluster = place.cluster;
    this.slug = place.slug;
    this.contact = contact;
    this.#owned = owned;
  }

  /** Enrols the cluster by the transport and starts its operator; it owns the cluster from then on. */
  static async join(
    place: { readonly plane: RunningControlPlane; readonly cluster: TransportCluster; readonly slug: string },
    transport: Transport,
  ): Promise<TransportMember> {
    await using owned = new AsyncDisposableStack();
    owned.use(place.cluster);
    const contact = owned.use(await FaultyProxy.start(place.plane.url));
    const kubeconfig = { kind: 'text', yaml: place.cluster.kubeconfig } as const;
    const flux = { kubeconfig, userAgent: 'release-controller', clock: systemClock, random: Math.random };
    const api = owned.use(connectCluster(flux));
    const timing = { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 };
    const charts = new ChartShelf(demoCharts());
    owned.use(startReleaseController({ api, clock: systemClock, logger, charts, timing }));
    owned.use(startWorkloadController({ api, clock: systemClock, logger }));
    const member = new TransportMember(place, contact, owned.move());
    await member.#enrol(transport);
    return member;
  }

  async #enrol(transport: Transport): Promise<void> {
    const created = await this.plane.call('POST', '/clusters', {
      slug: this.slug,
      displayName: this.slug,
      allowedNamespaces: [SHOP],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: ['rollout-restart', 'run-job'],
      intervals: { eventBatchMs: 20 },
      ...transport.record(this.cluster),
    });
    if (created.status !== 201) throw new Error(`${this.slug}: ${created.status} ${JSON.stringify(created.body)}`);
    this.id = String(created.body['cluster'].id);
    const registration = { token: String(created.body['registrationToken']) };
    const metadata = { name: this.slug, namespace: OPERATOR_NAMESPACE };
    const spec = { controlPlaneBaseUrl: this.contact.url, registration };
    await this.cluster.admin.create({ apiVersion: OPS_API_VERSION, kind: 'Cluster', metadata, spec }, 'kubectl');
    await this.startOperator();
    await this.untilCluster('ControllersHealthy', 'True ControllersRunning');
  }

  async startOperator(): Promise<void> {
    this.#operator = await startOperator(
      {
        namespace: OPERATOR_NAMESPACE,
        kubeconfig: { kind: 'text', yaml: this.cluster.operatorKubeconfig },
        stateDir: this.#stateDir,
        logLevel: 'silent',
        listen: { host: '127.0.0.1', port: 0 },
      },
      { clock: systemClock, random: Math.random, logger },
    );
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    this.#operator = undefined;
  }

  async accept(intent: Record<string, unknown>): Promise<string> {
    const accepted = await this.plane.call('POST', `/clusters/${this.id}/intents`, { namespace: SHOP, ...intent });
    if (accepted.status !== 202) throw new Error(`${accepted.status} ${JSON.stringify(accepted.body)}`);
    return String(accepted.body['id']);
  }

  /** Accepts an intent and answers it as it is once it has come to `state`. */
  async bring(intent: Record<string, unknown>, state: string): Promise<Answer['body']> {
    return await this.until(await this.accept(intent), state);
  }

  async install(name: string, more: Record<string, unknown> = {}): Promise<Answer['body']> {
    return await this.bring({ ...INSTALL, name, ...more }, 'ready');
  }

  async until(id: string, state: string): Promise<Answer['body']> {
    return await vi.waitFor(async () => {
      const body = await this.intent(id);
      if (body['state'] !== state) throw new Error(`not ${state}: ${JSON.stringify(body)}`);
      return body;
    }, WITHIN);
  }

  async intent(id: string): Promise<Answer['body']> {
    return (await this.plane.call('GET', `/intents/${id}`)).body;
  }

  async find(ref: ObjectRef): Promise<WithStatus | undefined> {
    return await this.cluster.admin.get<WithStatus>(ref);
  }

  /** @throws Error when it is not there */
  async read(ref: ObjectRef): Promise<WithStatus> {
    const found = await this.find(ref);
    if (found === undefined) throw new Error(`there is no ${ref.kind} ${ref.name}`);
    return found;
  }

  async uidOf(ref: ObjectRef): Promise<string | undefined> {
    return (await this.find(ref))?.metadata.uid;
  }

  async untilGone(ref: ObjectRef): Promise<void> {
    await vi.waitFor(async () => {
      if ((await this.uidOf(ref)) !== undefined) throw new Error(`${ref.kind} ${ref.name} is there`);
    }, WITHIN);
  }

  /** Resolves with the condition once it has this status and reason. */
  async untilSays(ref: ObjectRef, type: string, wanted: string): Promise<Condition> {
    return await vi.waitFor(async () => {
      const { status } = await this.read(ref);
      const found = findCondition(status?.conditions ?? [], type);
      const said = `${found?.status} ${found?.reason}`;
      if (found === undefined || said !== wanted) throw new Error(`${type} is ${said}: ${found?.message}`);
      return found;
    }, WITHIN);
  }

  async untilCluster(type: string, wanted: string): Promise<Condition> {
    const ref = { apiVersion: OPS_API_VERSION, kind: 'Cluster', namespace: OPERATOR_NAMESPACE, name: this.slug };
    return await this.untilSays(ref, type, wanted);
  }

  /** The condition of the Cluster as the control plane has it. */
  async untilReported(type: string, reason: string): Promise<Condition> {
    return await vi.waitFor(async () => {
      const { body } = await this.plane.call('GET', `/clusters/${this.id}`);
      const found = findCondition(body['conditions'] as readonly Condition[], type);
      if (found?.reason !== reason) throw new Error(`${type} is ${JSON.stringify(found)}`);
      return found;
    }, WITHIN);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOperator();
    await this.#owned.disposeAsync();
    rmSync(this.#stateDir, { recursive: true, force: true, maxRetries: 3 });
  }
}
