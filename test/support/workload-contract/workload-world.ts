import { vi } from 'vitest';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { untilServed } from '../../../src/kube/define-kinds.ts';
import { OPERATION_FIELD_MANAGER } from '../../../src/reconcile/operation/runners/workload-mark.ts';
import type { Workload } from '../../../src/reconcile/operation/runners/workload-target.ts';
import type {
  LeftBehind,
  OperationRun,
  RunnerDeps,
  RunState,
  TemplateRunner,
} from '../../../src/reconcile/operation/template-runner.ts';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { OPERATION_KIND, type Operation, type OperationSpec } from '../../../src/resources/operation.ts';
import { customResourceDefinition } from '../../../src/resources/crd.ts';
import { RESOURCE_DEFINITIONS } from '../../../src/resources/resource-definitions.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { startWorkloadController } from '../../../src/sandbox/workload-controller/start-workload-controller.ts';
import { aNamespace, aPolicy } from '../../reconcile/manifests.ts';

const logger = createLogger('test', 'silent');
const signal = new AbortController().signal;
const RING = [new Secret('a private key of the cluster')];
export const STARTED = new Date('2026-03-01T10:00:00.000Z');

/** An API server that the contract is run on. */
export interface WorkloadServer extends AsyncDisposable {
  readonly kubeconfig: string;
  /** Resolves when what an owner leaves behind is collected; absent: nobody collects it here. */
  readonly settled?: () => Promise<void>;
}

export interface RunOptions {
  readonly name?: string;
  readonly uid?: string;
  readonly attempt?: number;
  readonly startedAt?: Date;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly targetRef?: NonNullable<OperationSpec['targetRef']>;
  /** Annotations of the namespace. */
  readonly annotations?: Record<string, string>;
  readonly template?: string;
}

/** One try as the operation's reconcile hands it over. */
export function aRun(options: RunOptions = {}): OperationRun {
  const {
    name = 'once',
    uid = 'uid-a',
    attempt = 1,
    startedAt = STARTED,
    parameters = {},
    template = 'scale',
  } = options;
  const { targetRef, annotations = {} } = options;
  const operation: Operation = {
    apiVersion: 'ops.service.io/v1alpha1',
    kind: 'Operation',
    metadata: { name, namespace: 'shop', uid, generation: 1 },
    spec: { template, parameters: { ...parameters }, ...(targetRef === undefined ? {} : { targetRef }) },
  };
  const deadline = new Date(startedAt.getTime() + 900_000);
  const namespace = aNamespace('shop', { annotations });
  return { operation, parameters, attempt, startedAt, deadline, namespace, policy: aPolicy(), now: startedAt };
}

const container = { name: 'main', image: 'registry.test/web:1' };

export function aDeployment(
  name: string,
  change: { readonly annotations?: Record<string, string>; readonly spec?: object } = {},
): KubeObject {
  return workload('Deployment', name, change);
}

export function workload(
  kind: 'Deployment' | 'StatefulSet' | 'DaemonSet',
  name: string,
  { annotations = {}, spec = {} }: { readonly annotations?: Record<string, string>; readonly spec?: object } = {},
): KubeObject {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'shop', annotations },
    spec: {
      ...(kind === 'DaemonSet' ? {} : { replicas: 2 }),
      ...(kind === 'StatefulSet' ? { serviceName: name } : {}),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
      ...spec,
    },
  };
}

function connect(yaml: string) {
  return connectCluster({
    kubeconfig: { kind: 'text', yaml },
    userAgent: 'workload-test',
    clock: systemClock,
    random: Math.random,
  });
}

/** The namespace `shop` on a server, with the stand-in for the controllers of workloads. */
export class WorkloadWorld implements AsyncDisposable {
  readonly api: ClusterApi;
  readonly server: WorkloadServer;
  readonly #owned: AsyncDisposableStack;

  private constructor(server: WorkloadServer, api: ClusterApi, owned: AsyncDisposableStack) {
    this.server = server;
    this.api = api;
    this.#owned = owned;
  }

  /** @param controllers `own`: the server has its own, and no stand-in is started */
  static async start(
    startServer: () => Promise<WorkloadServer>,
    controllers: 'stand-in' | 'own' = 'stand-in',
  ): Promise<WorkloadWorld> {
    await using owned = new AsyncDisposableStack();
    const server = owned.use(await startServer());
    const api = owned.use(connect(server.kubeconfig));
    await api.create(aNamespace('shop'), 'test');
    const operation = RESOURCE_DEFINITIONS.filter(({ kind }) => kind === OPERATION_KIND);
    const definitions = operation.map((definition) => customResourceDefinition(definition));
    for (const definition of definitions) await api.create(definition, 'test');
    await untilServed(api, definitions, { clock: systemClock });
    if (controllers === 'stand-in') {
      const controller = owned.use(startWorkloadController({ api, clock: systemClock, logger, random: () => 0 }));
      await controller.synced();
    }
    return new WorkloadWorld(server, api, owned.move());
  }

  /** The same server, asked by the holder of another kubeconfig. */
  as(kubeconfig: string): WorkloadWorld {
    return new WorkloadWorld(this.server, this.#owned.use(connect(kubeconfig)), new AsyncDisposableStack());
  }

  /** The operation as it stands on the server; made where it is not there yet. */
  async order(operation: Operation): Promise<Operation> {
    const { apiVersion, kind, metadata, spec } = operation;
    const { name, namespace = '' } = metadata;
    const ref = { apiVersion, kind, namespace, name };
    const there = await this.api.get<Operation>(ref);
    return (
      there ?? (await this.api.create<Operation>({ apiVersion, kind, metadata: { name, namespace }, spec }, 'test'))
    );
  }

  /** Makes a workload and waits until its controller has looked at it. */
  async make(object: KubeObject): Promise<ObjectRef> {
    await this.api.create(object, 'helm-controller');
    const { apiVersion, kind, metadata } = object;
    const ref = { apiVersion, kind, namespace: 'shop', name: metadata.name };
    await this.until(ref, ({ status }) => status?.observedGeneration === 1);
    return ref;
  }

  async read(ref: ObjectRef): Promise<Workload> {
    const found = await this.api.get<Workload>(ref);
    if (found === undefined) throw new Error(`${ref.kind} ${ref.name} is not there`);
    return found;
  }

  async until(ref: ObjectRef, holds: (object: Workload) => boolean): Promise<Workload> {
    return await vi.waitFor(
      async () => {
        const found = await this.read(ref);
        if (!holds(found)) throw new Error(JSON.stringify(found.status));
        return found;
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  /** Begins the try, twice as after a crash between its effect and the next write; says why it cannot begin. */
  async start(runner: TemplateRunner, run: OperationRun): Promise<string | undefined> {
    const deps = this.#deps();
    const first = await runner.start(deps, run, signal);
    const second = await runner.start(deps, run, signal);
    const words = [first, second].map((refused) => (refused === undefined ? undefined : wordsOf(refused)));
    if (words[0] !== words[1]) throw new Error(`the second start said: ${words[1]}, the first: ${words[0]}`);
    return words[0];
  }

  async startOnce(runner: TemplateRunner, run: OperationRun): Promise<string | undefined> {
    const refused = await runner.start(this.#deps(), run, signal);
    return refused === undefined ? undefined : wordsOf(refused);
  }

  async observe(runner: TemplateRunner, run: OperationRun): Promise<RunState> {
    return await runner.observe(this.#deps(), run, signal);
  }

  async stop(runner: TemplateRunner, run: OperationRun): Promise<LeftBehind | void> {
    return await runner.stop?.(this.#deps(), run, signal);
  }

  /** What the runner says, once it says `wanted`. */
  async says(runner: TemplateRunner, run: OperationRun, wanted: RunState['state']): Promise<string> {
    return await vi.waitFor(
      async () => {
        const state = await this.observe(runner, run);
        if (state.state !== wanted) throw new Error(wordsOf(state));
        return wordsOf(state);
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  /** Begins, and waits for the end. */
  async outcome(runner: TemplateRunner, run: OperationRun): Promise<string> {
    const refused = await this.start(runner, run);
    if (refused !== undefined) return refused;
    return await vi.waitFor(
      async () => {
        const state = await this.observe(runner, run);
        if (state.state === 'running') throw new Error(state.message);
        return wordsOf(state);
      },
      { timeout: 10_000, interval: 5 },
    );
  }

  #deps(): RunnerDeps {
    return { api: this.api, logger, keyRing: () => RING };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

/** `failed JobFailed (final): why` */
export function wordsOf(state: RunState): string {
  if (state.state === 'absent') return 'absent';
  if (state.state === 'running') return `running: ${state.message}`;
  const isFinal = state.state === 'failed' && state.isFinal ? ' (final)' : '';
  return `${state.state} ${state.reason}${isFinal}: ${state.message}`;
}

/** What the operations' own field manager owns of the object. */
export function ownFields({ metadata }: KubeObject): readonly string[] {
  const leaves = (fields: object, path: string): string[] =>
    Object.entries(fields).flatMap(([field, below]: [string, object]) => {
      if (field === '.') return [];
      const at = `${path}${path === '' ? '' : '.'}${field.slice(2)}`;
      return Object.keys(below).length === 0 ? [at] : leaves(below, at);
    });
  return (metadata.managedFields ?? []).flatMap(({ manager, fieldsV1 = {} }) =>
    manager === OPERATION_FIELD_MANAGER ? leaves(fieldsV1, '').toSorted() : [],
  );
}
