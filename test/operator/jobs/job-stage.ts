import { expect } from 'vitest';
import type { Operator } from '../../../src/operator/start-operator.ts';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import type { Job } from '../../../src/protocol/job.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../../src/runtime/clock.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import { demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { anInstance, CHART_URL, type InstanceOptions } from '../../reconcile/manifests.ts';
import { FakeControlPlane } from '../fake-control-plane.ts';
import { OperatorWorld } from '../operator-world.ts';
import { playReleases } from '../play-releases.ts';

export const CATALOG = [
  { entry: 'podinfo', chart: { type: 'oci', url: CHART_URL, name: 'podinfo' }, versions: '>=6.5.0 <7' },
] as const;

/** An `apply` job as the control plane hands it out. */
export function applyJob(id: string, options: InstanceOptions = {}, change: Partial<Job> = {}): Job {
  const object = anInstance(options);
  const [epoch = '1', generation = '1'] = (options.source ?? '1.1').split('.');
  return {
    id,
    kind: 'apply',
    payload: object,
    idempotencyKey: `applicationinstance/shop/${object.metadata.name}@${generation}`,
    createdAt: new Date().toISOString(),
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    deliveryEpoch: Number(epoch),
    generation: Number(generation),
    intentId: options.intentId ?? 'int-1',
    ...change,
  };
}

/** A `delete` job of an instance. */
export function deleteJob(id: string, generation: number, change: Partial<Job> = {}): Job {
  const { payload: _payload, ...rest } = applyJob(id, { source: `1.${generation}`, intentId: 'int-9' });
  const payload = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
  };
  return { ...rest, kind: 'delete', payload, ...change };
}

export interface JobStageOptions {
  /** A release controller runs charts at once. */
  readonly withReleases?: boolean;
  readonly config?: Partial<AgentConfig>;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** A control plane with a queue, and an operator that is registered with it in pull mode. */
export class JobStage implements AsyncDisposable {
  readonly plane: FakeControlPlane;
  readonly world: OperatorWorld;
  operator: Operator | undefined;
  readonly #owned: AsyncDisposableStack;

  private constructor(plane: FakeControlPlane, world: OperatorWorld, owned: AsyncDisposableStack) {
    this.plane = plane;
    this.world = world;
    this.#owned = owned;
  }

  static async start(options: JobStageOptions = {}): Promise<JobStage> {
    await using owned = new AsyncDisposableStack();
    const plane = owned.use(await FakeControlPlane.start(undefined, options.config));
    const world = owned.use(await OperatorWorld.start());
    plane.accounts.set('svcreg_a', 'fresh');
    plane.configure({ catalog_entries: [...CATALOG] });
    await world.join(plane.url, 'svcreg_a');
    if (options.withReleases === true) {
      owned.use(
        playReleases(
          world,
          demoCharts().map((chart) => ({ ...chart, url: CHART_URL })),
        ),
      );
    }
    const stage = new JobStage(plane, world, owned.move());
    await stage.begin(options.logger, options.clock);
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');
    return stage;
  }

  async begin(logger?: Logger, clock: Clock = systemClock): Promise<void> {
    this.operator = await this.world.start(clock, logger);
  }

  async stop(): Promise<void> {
    if (this.operator !== undefined) await this.world.stop(this.operator);
    this.operator = undefined;
  }

  /** Resolves once the job has a result. */
  async result(id: string, timeout = 15_000): Promise<string> {
    await expect.poll(() => this.plane.queue.outcomes(id).length, { timeout, interval: 10 }).toBeGreaterThan(0);
    return this.plane.queue.outcomes(id)[0] ?? '';
  }

  async instance(name = 'podinfo'): Promise<KubeObject | undefined> {
    const ref = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name };
    return await this.world.cluster.api.get(ref);
  }

  /** Names of the journal's Secrets. */
  async journal(): Promise<readonly string[]> {
    const { items } = await this.world.cluster.api.list(
      { apiVersion: 'v1', kind: 'Secret' },
      { namespace: 'service-system' },
    );
    return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('service-operator-job-'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
