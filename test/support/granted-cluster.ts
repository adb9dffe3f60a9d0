import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../src/install/render-install.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { untilServed } from '../../src/kube/define-kinds.ts';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { startOperator, type Operator } from '../../src/operator/start-operator.ts';
import type { Condition } from '../../src/protocol/condition.ts';
import type { Cluster } from '../../src/resources/cluster.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import { refOf, type KubeObject, type ObjectRef } from '../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ChartShelf, demoCharts } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../src/sandbox/release-controller/start-release-controller.ts';
import { startWorkloadController } from '../../src/sandbox/workload-controller/start-workload-controller.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { installDefinitions } from './install-definitions.ts';
import type { RealCluster, RealClusterOptions } from './real-cluster/real-cluster.ts';

export const SYSTEM = 'service-system';
const CLUSTER: ObjectRef = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', namespace: SYSTEM, name: 'eu' };
const logger = createLogger('test', 'silent');
const files = readInstallFiles();

/** An object in the namespace `shop`, or in `namespace`. */
export function instanceRef(name: string, namespace = 'shop'): ObjectRef {
  return { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace, name };
}

/** Refused at once: there is nobody behind the webhook's Service, and a real one would be waited for. */
const NOWHERE = 'https://127.0.0.1:9';

/** The manifest's webhook, found at an address of this machine instead of a Service. */
function reachedBy(object: KubeObject, address: string): KubeObject {
  if (object.kind !== 'ValidatingWebhookConfiguration') return object;
  const webhooks = (object['webhooks'] as readonly { clientConfig: { service: { path: string } } }[]).map(
    (webhook) => ({
      ...webhook,
      clientConfig: { url: `${address}${webhook.clientConfig.service.path}` },
    }),
  );
  return { ...object, webhooks };
}

type WithStatus = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

/**
 * A real cluster with the operator's manifest applied as an admin would, a control plane and a release controller of its
 * own rights beside it, and operators that run under exactly the manifest's ServiceAccount.
 */
export class GrantedCluster implements AsyncDisposable {
  readonly real: RealCluster;
  readonly admin: ClusterApi;
  readonly plane: RunningControlPlane;
  clusterId = '';
  /** The file that the operator reads its credential from. */
  operatorKubeconfig = '';
  #token = '';
  #stateDir = '';
  readonly #owned: AsyncDisposableStack;
  #operator: Operator | undefined;

  private constructor(real: RealCluster, admin: ClusterApi, plane: RunningControlPlane, owned: AsyncDisposableStack) {
    this.real = real;
    this.admin = admin;
    this.plane = plane;
    this.#owned = owned;
  }

  static async start(
    start: (options: RealClusterOptions) => Promise<RealCluster>,
    options: RealClusterOptions & { readonly definitions?: 'all' | 'none' } = {},
  ): Promise<GrantedCluster> {
    await using owned = new AsyncDisposableStack();
    const { definitions = 'all', ...rest } = options;
    const real = owned.use(await start(rest));
    const connect = () =>
      owned.use(
        connectCluster({
          kubeconfig: { kind: 'text', yaml: real.kubeconfig },
          userAgent: 'admin',
          clock: systemClock,
          random: Math.random,
        }),
      );
    const admin = connect();
    const plane = owned.use(await RunningControlPlane.start());
    const world = new GrantedCluster(real, admin, plane, owned.move());
    if (definitions === 'all') await world.installDefinitions();
    await world.apply(renderCrds(files).objects.filter(({ kind }) => kind === 'Namespace'));
    await world.apply(renderOperator(files).objects.map((object) => reachedBy(object, NOWHERE)));
    await world.addNamespace('shop');
    await world.#register();
    return world;
  }

  async installDefinitions(): Promise<void> {
    await installDefinitions(this.admin, { own: true });
  }

  async installFluxDefinitions(): Promise<void> {
    await installDefinitions(this.admin, { own: false });
  }

  /** One of our own. */
  async installDefinition(kind: string): Promise<void> {
    const { objects } = renderCrds(files);
    const definition = objects.filter(({ metadata }) => metadata.name.startsWith(`${kind.toLowerCase()}s.`));
    await this.apply(definition);
    await untilServed(this.admin, definition, { clock: systemClock });
  }

  /** What `kubectl apply --server-side` does. */
  async apply(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.admin.apply(object, { fieldManager: 'kubectl', force: true });
  }

  /** Label, service account and RoleBinding, as `servicectl namespaces add` prints them; or the label alone. */
  async addNamespace(namespace: string, how: 'granted' | 'labelled' = 'granted'): Promise<void> {
    const { objects } = renderNamespaceGrant(files, { namespace });
    await this.apply(how === 'granted' ? objects : objects.filter(({ kind }) => kind !== 'RoleBinding'));
  }

  async withdraw(namespace: string): Promise<void> {
    for (const object of renderNamespaceGrant(files, { namespace }).objects) {
      if (object.kind === 'RoleBinding') await this.admin.delete(refOf(object));
    }
  }

  /** The operator under its ServiceAccount. */
  async startOperator(clock: Clock = systemClock): Promise<void> {
    const token = await this.real.serviceAccountToken(SYSTEM, 'service-operator');
    this.operatorKubeconfig = await this.real.kubeconfigFor(token);
    const kubeconfig = { kind: 'file', path: this.operatorKubeconfig } as const;
    const stateDir = this.#stateDir === '' ? await mkdtemp(join(tmpdir(), 'granted-')) : this.#stateDir;
    this.#stateDir = stateDir;
    this.#operator = await startOperator(
      { namespace: SYSTEM, kubeconfig, stateDir, logLevel: 'silent', listen: { host: '127.0.0.1', port: 0 } },
      { clock, random: () => 0, logger },
    );
  }

  get probesUrl(): string {
    return this.#operator?.probesUrl ?? '';
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    this.#operator = undefined;
  }

  /** A stand-in for Flux, with an admin's rights. */
  startReleaseController(): void {
    const api = this.#connect('release-controller');
    const timing = { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 };
    const charts = new ChartShelf(demoCharts());
    this.#owned.use(startReleaseController({ api, clock: systemClock, logger, charts, timing }));
  }

  /** A stand-in for the controllers of workloads and Jobs, with an admin's rights. */
  startWorkloadController(): void {
    const api = this.#connect('workload-controller');
    this.#owned.use(startWorkloadController({ api, clock: systemClock, logger }));
  }

  #connect(userAgent: string): ClusterApi {
    const kubeconfig = { kind: 'text', yaml: this.real.kubeconfig } as const;
    return this.#owned.use(connectCluster({ kubeconfig, userAgent, clock: systemClock, random: Math.random }));
  }

  /** Another record of the same cluster, in pull mode; what is brought from now on goes there. */
  async joinInPullMode(): Promise<void> {
    await this.#register('eu-pull', 'pull');
    await this.join();
    await vi.waitFor(async () => {
      const { status } = (await this.admin.get<Cluster>(CLUSTER)) ?? {};
      if (status?.connectivityMode !== 'pull') throw new Error('the cluster is not in pull mode yet');
    }, 20_000);
  }

  async #register(slug = 'eu', connectivityMode = 'gitops'): Promise<void> {
    await this.plane.putPodinfo();
    const created = await this.plane.call('POST', '/clusters', {
      slug,
      displayName: 'Europe',
      allowedNamespaces: ['shop', 'yard'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: ['rollout-restart', 'scale', 'run-job'],
      connectivityMode,
    });
    this.clusterId = String(created.body['cluster'].id);
    this.#token = String(created.body['registrationToken']);
    await this.plane.call('PATCH', `/clusters/${this.clusterId}`, { intervals: { eventBatchMs: 20 } });
  }

  /** The Secret that the printed command makes. */
  async handOverToken(): Promise<void> {
    const metadata = { namespace: SYSTEM, name: 'service-operator-registration' };
    const data = { token: Buffer.from(this.#token).toString('base64') };
    await this.apply([{ apiVersion: 'v1', kind: 'Secret', metadata, data }]);
  }

  /** The Cluster resource, with the token in its spec or without. */
  async join(how: { readonly withToken: boolean } = { withToken: true }): Promise<void> {
    const { apiVersion, kind, namespace = SYSTEM, name } = CLUSTER;
    const spec = {
      controlPlaneBaseUrl: this.plane.url,
      ...(how.withToken ? { registration: { token: this.#token } } : {}),
    };
    await this.apply([{ apiVersion, kind, metadata: { namespace, name }, spec }]);
  }

  /** With a fresh token, in the spec of the Cluster resource. */
  async registerAgain(): Promise<void> {
    const issued = await this.plane.call('POST', `/clusters/${this.clusterId}/registration-token`);
    const secret = { apiVersion: 'v1', kind: 'Secret', namespace: SYSTEM, name: 'service-operator-credentials' };
    const before = (await this.read(secret))?.metadata.resourceVersion;
    this.#token = String(issued.body['registrationToken']);
    await this.join();
    await vi.waitFor(async () => {
      const now = (await this.read(secret))?.metadata.resourceVersion;
      if (now === before) throw new Error('the credential is the old one');
    }, 20_000);
  }

  async accept(intent: Record<string, unknown>): Promise<string> {
    const accepted = await this.plane.call('POST', `/clusters/${this.clusterId}/intents`, intent);
    if (accepted.status !== 202) throw new Error(`${accepted.status} ${JSON.stringify(accepted.body)}`);
    return String(accepted.body['id']);
  }

  /** Accepts an intent and waits until it has come to `state`. */
  async bring(intent: Record<string, unknown>, state: string): Promise<void> {
    await this.plane.until(await this.accept(intent), state);
  }

  async install(name: string, namespace = 'shop'): Promise<void> {
    await this.bring({ ...INSTALL, name, namespace }, 'ready');
  }

  async read(ref: ObjectRef): Promise<WithStatus | undefined> {
    return await this.admin.get<WithStatus>(ref);
  }

  /** Resolves with the condition once it has this status and reason. */
  async until(ref: ObjectRef, type: string, wanted: string, timeout = 40_000): Promise<Condition> {
    return await vi.waitFor(
      async () => {
        const conditions = (await this.read(ref))?.status?.conditions ?? [];
        const found = findCondition(conditions, type);
        const said = `${found?.status} ${found?.reason}`;
        if (found === undefined || said !== wanted)
          throw new Error(`${ref.name} ${type} is ${said}: ${found?.message}`);
        return found;
      },
      { timeout, interval: 50 },
    );
  }

  async untilCluster(type: string, wanted: string, timeout?: number): Promise<Condition> {
    return await this.until(CLUSTER, type, wanted, timeout);
  }

  async untilGone(ref: ObjectRef, timeout = 30_000): Promise<void> {
    const gone = async (): Promise<void> => {
      if ((await this.read(ref)) === undefined) return;
      const { conditions } = (await this.read(CLUSTER))?.status ?? {};
      throw new Error(`${ref.kind} ${ref.name} is there: ${findCondition(conditions, 'Synced')?.message}`);
    };
    await vi.waitFor(gone, { timeout, interval: 50 });
  }

  async annotate(ref: ObjectRef, annotations: Record<string, string | null>): Promise<void> {
    await this.admin.mergePatch(ref, { metadata: { annotations } }, { fieldManager: 'kubectl-annotate' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOperator();
    await this.#owned.disposeAsync();
    if (this.#stateDir !== '') await rm(this.#stateDir, { recursive: true, force: true, maxRetries: 3 });
  }
}
