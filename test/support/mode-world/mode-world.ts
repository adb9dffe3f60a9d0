import { join } from 'node:path';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { kubeconfigText } from '../../../src/sandbox/kubeconfig.ts';
import { ChartShelf, demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../../src/sandbox/release-controller/start-release-controller.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { Secret } from '../../../src/runtime/secret.ts';
import { OperatorWorld } from '../../operator/operator-world.ts';
import type { Answer } from '../../control-plane/running-control-plane.ts';
import { freePorts } from '../real-cluster/free-ports.ts';
import { SkippingClock } from '../skipping-clock.ts';
import { AgentLine } from './agent-line.ts';
import { FenceReader } from './fence-reader.ts';
import { MortalOperator } from './mortal-operator.ts';
import { MortalPlane } from './mortal-plane.ts';
import { payloadWriteOf, type PayloadWrite } from './payload-writes.ts';

/** Whom the push mode's kubeconfig is of. */
const PUSH_USER = 'system:serviceaccount:service-system:service-control-plane';
/** In real time, between two looks; and how much of the programs' time each of them lets pass. */
const LOOK_MS = 20;
const STEP_MS = 2500;
/** More than all that the programs wait for by themselves: their longest pause between two tries is a minute. */
const PROGRAMS_MS = 15 * 60_000;

export interface ModeWorldOptions {
  readonly mode: ConnectivityMode;
  readonly clusterSettings?: Readonly<Record<string, unknown>>;
  /** How long the stand-in for Flux takes, by the clock of the programs. */
  readonly timing?: { readonly installMs?: number; readonly upgradeMs?: number; readonly uninstallMs?: number };
}

/** A control plane, a cluster and its operator, of which each can be killed, and every write of payloads at the cluster. */
export class ModeWorld implements AsyncDisposable {
  readonly clock: SkippingClock;
  readonly cluster: OperatorWorld;
  readonly plane: MortalPlane;
  readonly line: AgentLine;
  readonly operator: MortalOperator;
  readonly database: FenceReader;
  /** Of payloads, in the order in which they were carried out. */
  readonly writes: PayloadWrite[] = [];
  clusterId = '';
  #pushToken: Secret;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: {
    readonly clock: SkippingClock;
    readonly cluster: OperatorWorld;
    readonly plane: MortalPlane;
    readonly line: AgentLine;
    readonly database: FenceReader;
    readonly owned: AsyncDisposableStack;
  }) {
    this.clock = parts.clock;
    this.cluster = parts.cluster;
    this.plane = parts.plane;
    this.line = parts.line;
    this.database = parts.database;
    this.#owned = parts.owned;
    this.operator = new MortalOperator(parts.cluster, parts.line);
    const { sandbox } = parts.cluster.cluster;
    this.#pushToken = sandbox.users.add({ name: PUSH_USER });
    sandbox.audit.listen((write) => {
      const payload = payloadWriteOf(write);
      if (payload === undefined) return;
      const fence = this.database.fence();
      this.writes.push(fence === undefined ? payload : { ...payload, fence });
    });
  }

  static async start({ mode, clusterSettings = {}, timing = {} }: ModeWorldOptions): Promise<ModeWorld> {
    await using owned = new AsyncDisposableStack();
    const clock = new SkippingClock();
    const [port = 0] = await freePorts(1);
    const plane = owned.use(await MortalPlane.start(clock, port));
    const database = owned.use(new FenceReader(join(plane.plane.folder, 'control-plane.db')));
    const line = owned.use(await AgentLine.start(port));
    const cluster = owned.use(await OperatorWorld.start());
    const api = owned.use(
      connectCluster({
        kubeconfig: { kind: 'text', yaml: cluster.cluster.sandbox.kubeconfig() },
        userAgent: 'release-controller',
        clock: systemClock,
        random: Math.random,
      }),
    );
    owned.use(
      startReleaseController({
        api,
        clock,
        logger: createLogger('test', 'silent'),
        charts: new ChartShelf(demoCharts()),
        timing: { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0, ...timing },
      }),
    );
    const world = new ModeWorld({ clock, cluster, plane, line, database, owned: owned.move() });
    await world.#join(mode, clusterSettings);
    return world;
  }

  /** What the control plane writes with in push mode. */
  pushKubeconfig(): string {
    const { url, ca } = this.cluster.cluster.sandbox;
    return kubeconfigText({ url, token: this.#pushToken, ca });
  }

  /** The API server takes it no more; the next kubeconfig is of another. */
  revokePushToken(): void {
    const { users } = this.cluster.cluster.sandbox;
    users.revoke(this.#pushToken);
    this.#pushToken = users.add({ name: PUSH_USER });
  }

  /** A call of the admin API that is made again where the control plane was gone before it had answered. */
  async call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      await this.bringBack();
      try {
        const answer = await this.plane.plane.call(method, path, body, headers === undefined ? {} : { headers });
        if (!this.plane.isDead) return answer;
      } catch (error) {
        if (!this.plane.isDead || attempt > 5) throw error;
      }
    }
  }

  /** Whoever was killed starts again. */
  async bringBack(isOffline = false): Promise<void> {
    if (this.plane.isDead) await this.#meanwhile(this.plane.revive());
    if (this.operator.isDead) await this.#meanwhile(this.operator.revive(this.clock, isOffline));
  }

  /** Accepts an intent, once, whatever is killed meanwhile. */
  async accept(intent: Record<string, unknown>, key: string): Promise<Answer> {
    const path = `/clusters/${this.clusterId}/intents`;
    return await this.call('POST', path, intent, { 'idempotency-key': key });
  }

  /** Requests a switch; answers its view. */
  async requestMode(to: ConnectivityMode, more: Record<string, unknown> = {}): Promise<Answer> {
    const push = to === 'push' ? { push: { kubeconfig: this.pushKubeconfig() } } : {};
    return await this.call('POST', `/clusters/${this.clusterId}/mode`, { mode: to, ...push, ...more });
  }

  async switchOf(id: string): Promise<Answer['body']> {
    return (await this.call('GET', `/clusters/${this.clusterId}/mode-switches/${id}`)).body;
  }

  async view(): Promise<Answer['body']> {
    return (await this.call('GET', `/clusters/${this.clusterId}`)).body;
  }

  /**
   * Lets time pass until `look` answers something, and brings back whoever is killed meanwhile. It is given up after
   * `limitMs` of real time, though not before the programs had `PROGRAMS_MS` of theirs, which passes more slowly on a machine
   * that has much else to do.
   */
  async until<T>(
    what: string,
    look: () => Promise<T | undefined>,
    options: { readonly limitMs?: number } = {},
  ): Promise<T> {
    const deadline = performance.now() + (options.limitMs ?? 45_000);
    const programsDeadline = this.clock.now().getTime() + PROGRAMS_MS;
    for (;;) {
      await this.bringBack(!this.line.isUp && !this.operator.isDead);
      const found = await look();
      if (found !== undefined) return found;
      const isOver = performance.now() > deadline && this.clock.now().getTime() > programsDeadline;
      if (isOver) throw new Error(`${what}: not within the time`);
      await this.pass();
    }
  }

  /**
   * A moment of real time, and a longer one of the programs': the shorter the less they were idle, as their time is not to
   * run away from what they have in hand on a slow machine.
   */
  async pass(ms?: number): Promise<void> {
    const before = performance.eventLoopUtilization();
    await systemClock.sleep(LOOK_MS);
    const { utilization } = performance.eventLoopUtilization(before);
    this.clock.skip(ms ?? STEP_MS * Math.max(0.05, 1 - utilization));
  }

  /** Until the switch has come to its end. */
  async untilOver(id: string, limitMs?: number): Promise<Answer['body']> {
    return await this.until(
      `the end of switch ${id}`,
      async () => {
        const view = await this.switchOf(id);
        return view['finishedAt'] === undefined ? undefined : view;
      },
      limitMs === undefined ? {} : { limitMs },
    );
  }

  async untilIntent(id: string, states: readonly string[]): Promise<Answer['body']> {
    let last = '';
    const look = async (): Promise<Answer['body'] | undefined> => {
      const { body } = await this.call('GET', `/intents/${id}`);
      last = JSON.stringify(body);
      return states.includes(String(body['state'])) ? body : undefined;
    };
    return await this.until(`intent ${id} to be ${states.join(' or ')}`, look).catch((cause: unknown) => {
      throw new Error(`${(cause as Error).message}: ${last}`, { cause });
    });
  }

  /** Of each application that is there: its UID. */
  async uids(): Promise<Record<string, string>> {
    const objects = await this.objects();
    return Object.fromEntries(objects.map(({ metadata }) => [metadata.name, String(metadata.uid)]));
  }

  async objects(): Promise<readonly KubeObject[]> {
    const kind = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
    return (await this.cluster.cluster.api.list<KubeObject>(kind, { namespace: 'shop' })).items;
  }

  ref(name: string): ObjectRef {
    return { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#meanwhile(this.#owned.disposeAsync());
  }

  async #join(connectivityMode: ConnectivityMode, settings: Readonly<Record<string, unknown>>): Promise<void> {
    const { plane } = this.plane;
    await plane.putPodinfo();
    const created = await plane.call('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: ['rollout-restart'],
      // A cluster in push mode registers in another mode first, as its credential comes with a switch.
      connectivityMode: connectivityMode === 'push' ? 'pull' : connectivityMode,
      ...settings,
    });
    if (created.status !== 201) throw new Error(`the cluster: ${JSON.stringify(created.body)}`);
    this.clusterId = String(created.body['cluster'].id);
    await plane.call('PATCH', `/clusters/${this.clusterId}`, { intervals: { eventBatchMs: 20 } });
    await this.cluster.join(this.line.url, String(created.body['registrationToken']));
    await this.operator.start(this.clock);
    await this.until('the controllers to run', async () => {
      const { status } = await this.cluster.read();
      return findCondition(status?.conditions, 'ControllersHealthy')?.status === 'True' ? true : undefined;
    });
    if (connectivityMode !== 'push') return;
    const { body } = await this.requestMode('push');
    const end = await this.untilOver(String(body['switch'].id));
    if (end['state'] !== 'active') throw new Error(`not in push mode: ${JSON.stringify(end)}`);
  }

  /** Programs that end wait for some of their time. */
  async #meanwhile<T>(work: Promise<T>): Promise<T> {
    const end = new AbortController();
    const done = work.finally(() => end.abort());
    done.catch(() => undefined);
    while (!end.signal.aborted) await Promise.race([done.catch(() => undefined), this.pass()]);
    return await done;
  }
}
