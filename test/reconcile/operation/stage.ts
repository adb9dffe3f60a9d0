import { deepEqual } from 'node:assert/strict';
import { vi } from 'vitest';
import type { StatusChange } from '../../../src/events/report/reporter.ts';
import { BUILT_IN_TEMPLATES } from '../../../src/operation-templates/built-in-templates.ts';
import type { ClusterPolicy } from '../../../src/policy/cluster-policy.ts';
import { Inventory } from '../../../src/reconcile/inventory.ts';
import { startReconciler, type Reconciler, type ReconcilerDeps } from '../../../src/reconcile/reconciler.ts';
import type { FailedTry, RunState, TemplateRunner } from '../../../src/reconcile/operation/template-runner.ts';
import type { Operation, OperationSpec } from '../../../src/resources/operation.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { anInstance, aPolicy, CLUSTER_ID } from '../manifests.ts';
import { RecordingApi } from '../recording-api.ts';
import { logger, startTestCluster, type TestCluster } from '../test-cluster.ts';

const OPERATION = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop' } as const;
export const TEMPLATES = Object.keys(BUILT_IN_TEMPLATES);
const KEYS = [new Secret('{"kty":"OKP","d":"a key of the cluster"}')];
const WAIT = { timeout: 30_000, interval: 5 };

/** A runner of `run-job` that does as the test says, and counts. What it made outlives the operator. */
export class TestRunner {
  readonly starts: string[] = [];
  readonly stops: string[] = [];
  readonly tries = new Map<string, RunState>();
  /** What a try is once it is started. */
  first: RunState = { state: 'running', message: 'at work' };
  refusal: FailedTry | undefined;
  beforeStart: () => void = () => undefined;
  beforeObserve: () => void = () => undefined;
  beforeStop: () => void = () => undefined;
  violations: NonNullable<TemplateRunner['violations']> = () => [];
  isStoppable = true;

  as(name: TemplateRunner['name']): TemplateRunner {
    const keyOf = (uid: string | undefined, attempt: number): string => `${uid}-${attempt}`;
    return {
      name,
      violations: (run) => this.violations(run),
      start: async (_, { operation, attempt }) => {
        this.beforeStart();
        if (this.refusal !== undefined) return this.refusal;
        const key = keyOf(operation.metadata.uid, attempt);
        this.starts.push(`${operation.metadata.name}-${attempt}`);
        if (!this.tries.has(key)) this.tries.set(key, this.first);
        return undefined;
      },
      observe: async (_, { operation, attempt }) => {
        this.beforeObserve();
        return this.tries.get(keyOf(operation.metadata.uid, attempt)) ?? { state: 'absent' };
      },
      ...(this.isStoppable
        ? {
            stop: async (_, { operation, attempt }) => {
              this.beforeStop();
              this.stops.push(`${operation.metadata.name}-${attempt}`);
              this.tries.delete(keyOf(operation.metadata.uid, attempt));
            },
          }
        : {}),
    };
  }

  /** Every try that is there now, and every one that comes, is so. */
  become(state: RunState): void {
    for (const key of this.tries.keys()) this.tries.set(key, state);
    this.first = state;
  }
}

/** A cluster, a runner, and an operator that can be restarted. */
export class OperationStage implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly runner = new TestRunner();
  readonly reported: StatusChange[] = [];
  readonly events: string[] = [];
  recording!: RecordingApi;
  inventory!: Inventory;
  policy: ClusterPolicy = aPolicy({ operationTemplates: TEMPLATES });
  options: Partial<ReconcilerDeps> = {};
  #reconciler: Reconciler | undefined;
  #changed = (): void => undefined;
  /** How far the operator's clock is ahead; what is due by it is done at the next look. */
  aheadMs = 0;

  constructor(cluster: TestCluster) {
    this.cluster = cluster;
  }

  async start(): Promise<void> {
    const clock = { ...systemClock, now: () => new Date(Date.now() + this.aheadMs) };
    this.recording = new RecordingApi(this.cluster.api);
    this.inventory = new Inventory({ api: this.recording.api, logger, clusterId: () => CLUSTER_ID });
    await this.inventory.load(new AbortController().signal);
    this.#reconciler = startReconciler({
      api: this.recording.api,
      inventory: this.inventory,
      reporter: { statusChanged: (change) => void this.reported.push(change) },
      recorder: { record: (_, { type, reason }) => void this.events.push(`${type} ${reason}`) },
      clock,
      random: () => 0,
      logger,
      keyRing: () => KEYS,
      policy: () => this.policy,
      onPolicyChange: (listener) => {
        this.#changed = listener;
      },
      runners: (['run-job', 'rollout-restart'] as const).map((name) => this.runner.as(name)),
      ...this.options,
    });
  }

  /** A new operator on the same cluster. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** So many seconds later everything is looked at again. */
  later(seconds: number): void {
    this.aheadMs += seconds * 1000;
    this.#changed();
  }

  async patch(patch: Record<string, unknown>, name = 'job'): Promise<void> {
    await this.cluster.api.mergePatch({ ...OPERATION, name }, patch, { fieldManager: 'service-operator' });
  }

  async stop(): Promise<void> {
    await this.#reconciler?.[Symbol.asyncDispose]();
    this.#reconciler = undefined;
  }

  allow(change: Partial<ClusterPolicy>): void {
    this.policy = { ...this.policy, ...change };
    this.#changed();
  }

  /** As the control plane's payload is applied. */
  async deliver(spec: Partial<OperationSpec> = {}, options: { name?: string; source?: string } = {}): Promise<void> {
    const { name = 'job', source = '1.1' } = options;
    await this.cluster.api.apply(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Operation',
        metadata: { ...anInstance({ name, source, intentId: `int-${source.split('.')[1]}` }).metadata },
        spec: { template: 'run-job', parameters: { image: 'busybox' }, ...spec },
      },
      { fieldManager: 'service-operator' },
    );
  }

  async read(name = 'job'): Promise<Operation | undefined> {
    return await this.cluster.api.get<Operation>({ ...OPERATION, name });
  }

  async until(phase: string, reason?: string, name = 'job'): Promise<Operation> {
    return await vi.waitFor(async () => {
      const live = await this.read(name);
      const said = live?.status?.conditions?.find(({ type }) => type === live.status?.phase);
      deepEqual([live?.status?.phase, reason === undefined ? undefined : said?.reason], [phase, reason]);
      if (live === undefined) throw new Error('there is no operation');
      return live;
    }, WAIT);
  }

  async untilGone(name = 'job'): Promise<void> {
    await vi.waitFor(async () => deepEqual(await this.read(name), undefined), WAIT);
  }

  /** The types that were said to be True, in order, one line for each change. */
  get told(): readonly string[] {
    return this.reported.flatMap(({ before, after }) =>
      after
        .filter(({ type, status, reason, message }) => {
          const old = before.find((condition) => condition.type === type);
          return status === 'True' && (old?.status !== status || old.reason !== reason || old.message !== message);
        })
        .map(({ type, reason = '' }) => `${type} ${reason}`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.cluster[Symbol.asyncDispose]();
  }
}

export async function setOperationStage(): Promise<OperationStage> {
  return new OperationStage(await startTestCluster());
}
