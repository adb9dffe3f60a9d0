import type { ClusterApi, Informer } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { createInformer } from '../../../src/kube/informer.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import { HELM_RELEASE, type HelmRelease, type HelmReleaseSpec } from '../../../src/resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../../src/resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../../../src/resources/flux-oci-repository.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { fluxCrds } from '../../../src/sandbox/flux-crds.ts';
import { ChartShelf } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import {
  startReleaseController,
  type ReleaseController,
} from '../../../src/sandbox/release-controller/start-release-controller.ts';
import { startSandbox, type Sandbox } from '../../../src/sandbox/start-sandbox.ts';

const logger = createLogger('test', 'silent');
export const NO_TIME = { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 };
export const PODINFO_URL = 'oci://ghcr.io/stefanprodan/charts/podinfo';

type Flux = HelmRelease | OciRepository | HelmRepository;

/** A sandbox with Flux' kinds and the namespace `shop`, the controller, and a view of what it writes. */
export class FluxStage implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly api: ClusterApi & AsyncDisposable;
  readonly charts: ChartShelf = new ChartShelf();
  controller: ReleaseController | undefined;
  readonly #stop = new AbortController();
  readonly #informers: readonly Informer<Flux>[];
  readonly #running: Promise<unknown>;
  readonly #waiting = new Set<() => void>();

  private constructor(sandbox: Sandbox, api: ClusterApi & AsyncDisposable) {
    this.sandbox = sandbox;
    this.api = api;
    this.#informers = [HELM_RELEASE, OCI_REPOSITORY, HELM_REPOSITORY].map((kind) => {
      const informer = createInformer<Flux>({ api, kind, clock: systemClock, random: Math.random, logger });
      informer.onChange(() => {
        for (const look of this.#waiting) look();
      });
      return informer;
    });
    this.#running = Promise.all(this.#informers.map(async (informer) => informer.run(this.#stop.signal)));
  }

  static async set(): Promise<FluxStage> {
    const sandbox = await startSandbox({ tls: false });
    const kubeconfig = { kind: 'text', yaml: sandbox.kubeconfig() } as const;
    const api = connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: Math.random });
    for (const definition of fluxCrds()) await api.create(definition, 'test');
    await sandbox.settled();
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, 'test');
    return new FluxStage(sandbox, api);
  }

  async start(options: { readonly timing?: Partial<typeof NO_TIME>; readonly clock?: Clock } = {}): Promise<void> {
    this.controller = startReleaseController({
      api: this.api,
      clock: options.clock ?? systemClock,
      logger,
      charts: this.charts,
      timing: { ...NO_TIME, ...options.timing },
      random: () => 0,
    });
    await this.controller.synced();
  }

  async halt(): Promise<void> {
    await this.controller?.[Symbol.asyncDispose]();
    this.controller = undefined;
  }

  async ociRepository(ref: Record<string, string>, spec: Record<string, unknown> = {}): Promise<void> {
    const metadata = { name: 'podinfo', namespace: 'shop' };
    const object = { ...OCI_REPOSITORY, metadata, spec: { interval: '5m', url: PODINFO_URL, ref, ...spec } };
    await this.api.apply(object, { fieldManager: 'test' });
  }

  async helmRelease(spec: Partial<HelmReleaseSpec> = {}, name = 'podinfo'): Promise<void> {
    const chartRef = spec.chart === undefined ? { chartRef: { kind: 'OCIRepository', name: 'podinfo' } } : {};
    const object = {
      ...HELM_RELEASE,
      metadata: { name, namespace: 'shop' },
      spec: { interval: '5m', ...chartRef, ...spec },
    };
    await this.api.apply(object, { fieldManager: 'test' });
  }

  async release(name = 'podinfo'): Promise<HelmRelease> {
    const found = await this.api.get<HelmRelease>({ ...HELM_RELEASE, namespace: 'shop', name });
    if (found === undefined) throw new Error(`there is no HelmRelease ${name}`);
    return found;
  }

  /** As the informer has it. */
  seen(name: string): HelmRelease | undefined {
    return this.#informers[0]?.get('shop', name) as HelmRelease | undefined;
  }

  async deployment(name = 'podinfo'): Promise<KubeObject | undefined> {
    return this.api.get({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name });
  }

  /** Waits until the condition of an object's present generation has this reason. */
  async until(kind: Flux['kind'], type: string, reason: string, name = 'podinfo'): Promise<Flux> {
    return this.find(kind, name, (object) => {
      const condition = findCondition(object?.status?.conditions, type);
      return condition?.reason === reason && condition.observedGeneration === object?.metadata.generation;
    }) as Promise<Flux>;
  }

  async untilRelease(type: string, reason: string, name = 'podinfo'): Promise<HelmRelease> {
    return (await this.until('HelmRelease', type, reason, name)) as HelmRelease;
  }

  async untilGone(name = 'podinfo'): Promise<void> {
    await this.find('HelmRelease', name, (object) => object === undefined);
  }

  async find(kind: string, name: string, found: (object: Flux | undefined) => boolean): Promise<Flux | undefined> {
    const all = [HELM_RELEASE.kind, OCI_REPOSITORY.kind, HELM_REPOSITORY.kind] as string[];
    const informer = this.#informers[all.indexOf(kind)];
    await informer?.synced();
    const { promise, resolve } = Promise.withResolvers<Flux | undefined>();
    const look = (): void => {
      const object = informer?.get('shop', name);
      if (found(object)) resolve(object);
    };
    this.#waiting.add(look);
    look();
    const object = await promise;
    this.#waiting.delete(look);
    return object;
  }

  async annotate(annotations: Record<string, string>, name = 'podinfo'): Promise<void> {
    await this.api.mergePatch({ ...HELM_RELEASE, namespace: 'shop', name }, { metadata: { annotations } });
  }

  async events(): Promise<string[]> {
    const { items } = await this.api.list({ apiVersion: 'v1', kind: 'Event' });
    return items.map((event) => `${String(event['reason'])}: ${String(event['message'])}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.halt();
    this.#stop.abort();
    await this.#running;
    await this.api[Symbol.asyncDispose]();
    await this.sandbox[Symbol.asyncDispose]();
  }
}

/** `Ready: True InstallSucceeded`, in the order of the status. */
export function conditionsOf(object: Flux | undefined): string[] {
  return (object?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}: ${status} ${reason}`);
}

export function messageOf(object: Flux, type: string): string {
  return findCondition(object.status?.conditions, type)?.message ?? '';
}

/** `v2 deployed 6.6.1`, newest first. */
export function historyOf(release: HelmRelease): string[] {
  return (release.status?.history ?? []).map(
    ({ version, status, chartVersion }) => `v${version} ${status} ${chartVersion.replace(/\+.*/, '')}`,
  );
}
