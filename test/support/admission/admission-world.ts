import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { readInstallFiles } from '../../../src/install/install-files.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../../src/install/render-install.ts';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { startOperator, type Operator } from '../../../src/operator/start-operator.ts';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { anInstance, aPolicy, CLUSTER_ID } from '../../reconcile/manifests.ts';
import { controlPlaneKey } from '../../policy/signed-approval.ts';
import { installDefinitions } from '../install-definitions.ts';
import { freePorts } from '../real-cluster/free-ports.ts';
import type { AdmissionCluster } from './admission-cluster.ts';

export const SYSTEM = 'service-system';
export const CONFIGURATION = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  name: 'service-operator',
};
export const hasKubectl = spawnSync('kubectl', ['version', '--client']).error === undefined;
if (!hasKubectl) process.stderr.write('admission by kubectl is skipped: there is no kubectl on the PATH\n');

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Webhook {
  readonly clientConfig: Readonly<Record<string, unknown>> & { readonly service: { readonly path: string } };
}

const files = readInstallFiles();

/** Nobody is behind `http://127.0.0.1:9`: what is allowed stands in the status, as a control plane has put it there. */
const CLUSTER_SPEC = { controlPlaneBaseUrl: 'http://127.0.0.1:9' };
const CLUSTER_STATUS = {
  clusterId: CLUSTER_ID,
  connectivityMode: 'gitops',
  deliveryEpoch: 1,
  allowedNamespaces: ['shop', 'narrow', 'bare', 'brief'],
  operationTemplates: ['scale', 'rollout-restart'],
  catalogEntries: aPolicy().catalogEntries,
  odooPublicKey: JSON.stringify(controlPlaneKey.publicJwk),
};

/** A cluster with the operator's manifest applied as an admin would, an operator, and kubectl. */
export class AdmissionWorld implements AsyncDisposable {
  readonly cluster: AdmissionCluster;
  readonly admin: ClusterApi;
  readonly #owned: AsyncDisposableStack;
  readonly #folder: string;
  readonly #port: number;
  #operator: Operator | undefined;

  private constructor(cluster: AdmissionCluster, folder: string, port: number, owned: AsyncDisposableStack) {
    this.cluster = cluster;
    this.#folder = folder;
    this.#port = port;
    this.#owned = owned;
    const connecting = { userAgent: 'admin', clock: systemClock, random: Math.random };
    this.admin = owned.use(connectCluster({ ...connecting, kubeconfig: { kind: 'text', yaml: cluster.kubeconfig } }));
  }

  static async start(start: () => Promise<AdmissionCluster>): Promise<AdmissionWorld> {
    await using owned = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'admission-'));
    owned.defer(async () => await rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    const cluster = owned.use(await start());
    const [port = 0] = await freePorts(1);
    const world = new AdmissionWorld(cluster, folder, port, owned.move());
    await world.#install();
    await world.startOperator();
    await world.untilJudged();
    return world;
  }

  async #install(): Promise<void> {
    await this.kubeconfig('admin', this.cluster.kubeconfig);
    await installDefinitions(this.admin, { own: true });
    await this.apply(renderCrds(files).objects.filter(({ kind }) => kind === 'Namespace'));
    await this.apply(renderOperator(files).objects.filter(({ kind }) => kind !== CONFIGURATION.kind));
    for (const namespace of ['shop', 'narrow', 'closed']) await this.grant(namespace);
    await this.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bare' } }]);
    const annotations = { 'ops.service.io/allowed-operations': 'rollout-restart' };
    await this.admin.mergePatch({ apiVersion: 'v1', kind: 'Namespace', name: 'narrow' }, { metadata: { annotations } });
    const cluster = {
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'eu', namespace: SYSTEM },
    };
    await this.apply([{ ...cluster, spec: CLUSTER_SPEC }]);
    await this.admin.apply({ ...cluster, status: CLUSTER_STATUS }, { fieldManager: 'test', subresource: 'status' });
    await this.kubeconfig('operator', await this.cluster.kubeconfigOf(SYSTEM, 'service-operator', 'by its roles'));
    await this.configure();
  }

  /** Labels a namespace and binds the operator's role there. */
  async grant(namespace: string): Promise<void> {
    await this.apply(renderNamespaceGrant(files, { namespace }).objects);
  }

  async apply(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.admin.apply(object, { fieldManager: 'kubectl', force: true });
  }

  /** Puts the manifest's webhook there anew, at an address of this machine instead of the Service. */
  async configure(
    address = `https://127.0.0.1:${this.#port}`,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const [object] = renderOperator(files).objects.filter(({ kind }) => kind === CONFIGURATION.kind);
    if (object === undefined) throw new Error('the manifest has no webhook');
    const webhooks = (object['webhooks'] as readonly Webhook[]).map((webhook) => ({
      ...webhook,
      clientConfig: { url: `${address}${webhook.clientConfig.service.path}`, ...more },
    }));
    await this.admin.delete(CONFIGURATION);
    await this.admin.create({ ...object, webhooks }, 'kubectl');
  }

  async startOperator(): Promise<void> {
    this.#operator = await startOperator(
      {
        namespace: SYSTEM,
        kubeconfig: { kind: 'file', path: join(this.#folder, 'operator') },
        stateDir: join(this.#folder, 'state'),
        logLevel: 'silent',
        listen: { host: '127.0.0.1', port: this.#port },
      },
      { clock: systemClock, random: () => 0, logger: createLogger('test', 'silent') },
    );
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    this.#operator = undefined;
  }

  /** Until the API server asks, and is answered from what the operator watches. */
  async untilJudged(): Promise<void> {
    const probe = byHand(anInstance({ version: '9.0.0' }), { name: 'probe', labels: { 'app.service.io/probe': 'x' } });
    const look = async (): Promise<void> => {
      const words = await this.admin.apply(probe, { fieldManager: 'probe', dryRun: true }).then(
        () => 'admitted',
        (error: unknown) => (error as Error).message,
      );
      expect(words).toMatch(/denied the request: only the operator sets .*spec\.chart\.version/s);
    };
    await vi.waitFor(look, { timeout: 40_000, interval: 200 });
  }

  async read(ref: ObjectRef): Promise<(KubeObject & { status?: Readonly<Record<string, unknown>> }) | undefined> {
    return await this.admin.get(ref);
  }

  /** A kubeconfig for `as`. */
  async kubeconfig(name: string, yaml: string): Promise<void> {
    await writeFile(join(this.#folder, name), yaml, { mode: 0o600 });
  }

  /** @param input what is piped in; an object as JSON */
  async kubectl(args: readonly string[], input?: KubeObject, as = 'admin'): Promise<Run> {
    const env = { ...process.env, KUBECONFIG: join(this.#folder, as), HOME: this.#folder };
    return await new Promise((resolve) => {
      const child = execFile('kubectl', args, { env, timeout: 60_000 }, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err });
      });
      child.stdin?.end(input === undefined ? '' : JSON.stringify(input));
    });
  }

  async create(object: KubeObject, as?: string): Promise<Run> {
    return await this.kubectl(['create', '-f', '-'], object, as);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOperator();
    await this.#owned.disposeAsync();
  }
}

/** As a person writes it: nothing of what the operator sets. */
export function byHand<T extends KubeObject>(object: T, metadata: Partial<KubeObject['metadata']> = {}): T {
  const { name, namespace = 'shop' } = object.metadata;
  return { ...object, metadata: { name, namespace, ...metadata } };
}
