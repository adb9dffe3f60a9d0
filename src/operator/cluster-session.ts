import type { DesiredSet } from '../delivery/delivery.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { KubeEventRecorder } from '../kube/kube-event-recorder.ts';
import type { Term } from '../kube/lease/term.ts';
import { DEFAULT_INTERVALS, type AgentConfig, type Intervals } from '../protocol/agent-config.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { ApplyReport } from '../reconcile/apply-report.ts';
import { grantCondition } from '../reconcile/cluster/grant-condition.ts';
import { syncConditions } from '../reconcile/cluster/sync-conditions.ts';
import type { ClusterPolicy } from '../reconcile/cluster-policy.ts';
import type { Cluster } from '../resources/cluster.ts';
import { isTrue } from '../resources/conditions.ts';
import { CLUSTER_ID_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { AgentSession } from './agent-session.ts';
import { ClusterStatusWriter } from './cluster-status.ts';
import { ConfigLoop } from './config-loop.ts';
import { connectedCondition, Contact, type ContactState } from './contact.ts';
import { ControllerHealth } from './controller-health.ts';
import { Core } from './core.ts';
import { readCredentials } from './credentials.ts';
import { EventPipeline } from './event-pipeline.ts';
import { openGitTarget } from './open-git-target.ts';
import { Heartbeat } from './heartbeat.ts';
import type { KeyRing } from './keypair.ts';
import { OPERATOR_VERSION } from './operator-version.ts';
import { OwnVersion } from './own-version.ts';
import { policyOf, projectionOf } from './projection.ts';
import { Registrar } from './registrar.ts';

export interface ClusterSessionDeps {
  readonly api: ClusterApi;
  readonly term: Term;
  readonly recorder: KubeEventRecorder;
  readonly namespace: string;
  readonly stateDir: string;
  /** The `Cluster` resource as it is now; the same incarnation for the session's life. */
  readonly cluster: () => Cluster;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const DRAIN_MS = 3000;

/** Everything that one `Cluster` resource sets going, wired together. */
export class ClusterSession {
  readonly #deps: ClusterSessionDeps;
  readonly #contact: Contact;
  readonly #session: AgentSession;
  readonly #events: EventPipeline;
  readonly #status: ClusterStatusWriter;
  readonly #config: ConfigLoop;
  readonly #heartbeat: Heartbeat;
  readonly #registrar: Registrar;
  readonly #core: Core;
  readonly #version: OwnVersion;
  readonly #health: ControllerHealth;
  readonly #mayReconcile = Promise.withResolvers<void>();
  #intervals: Intervals = DEFAULT_INTERVALS;
  #keys: KeyRing | undefined;
  #caCertificate = '';
  #lastPolicy = '';
  #lastGeneration: number | undefined;

  constructor(deps: ClusterSessionDeps) {
    this.#deps = deps;
    const { api, clock, random, logger, namespace, cluster } = deps;
    this.#contact = new Contact({ clock, onChange: (state, message) => this.#contactChanged(state, message) });
    this.#session = new AgentSession({
      contact: this.#contact,
      logger,
      reread: async (signal) => {
        const { token, clusterId = this.#session.clusterId } = await readCredentials(api, namespace, signal);
        return token === undefined || clusterId === undefined ? undefined : { token, clusterId };
      },
      onAuthenticated: (condition) => this.#status.setConditions([condition]),
    });
    this.#events = new EventPipeline({
      api,
      namespace,
      lease: deps.term.lease,
      labels: () => this.#labels(),
      session: this.#session,
      batch: () => ({ size: this.#intervals.event_batch_size, ms: this.#intervals.event_batch_ms }),
      clock,
      random,
      logger,
      onOverflow: (condition) => this.#status.setConditions([condition]),
      snapshot: () => [
        ...this.#core.snapshot(),
        { ref: this.#status.ref, before: [], after: this.#status.conditions, source: this.#status.source },
      ],
    });
    this.#health = new ControllerHealth({ clock, set: (condition) => this.#status.setConditions([condition]) });
    this.#status = new ClusterStatusWriter({
      api,
      cluster,
      onFault: (fault) => this.#health.note("the Cluster's status cannot be written", fault),
      reporter: this.#events,
      lastContact: () => this.#contact.lastAnswer,
      clock,
      random,
      logger,
    });
    this.#config = new ConfigLoop({
      session: this.#session,
      contact: this.#contact,
      clock,
      random,
      logger,
      onConfig: (config, revision) => this.#configured(config, revision),
    });
    this.#heartbeat = new Heartbeat({
      clock,
      intervalMs: () => this.#intervals.heartbeat_seconds * 1000,
      ref: () => this.#status.ref,
      conditions: () => this.#status.conditions,
      source: () => this.#status.source,
      beat: (event) => this.#events.beat(event),
    });
    this.#registrar = new Registrar({
      ...deps,
      mayWrite: () => deps.term.check(),
      session: this.#session,
      contact: this.#contact,
      onKeys: (keys) => {
        this.#keys = keys;
      },
      onCredentials: ({ clusterId, caCertificate, expiresAt, rotateAfter }) => {
        this.#caCertificate = caCertificate;
        const credential = {
          ...(expiresAt === undefined ? {} : { expiresAt }),
          ...(rotateAfter === undefined ? {} : { rotateAfter }),
        };
        this.#status.change({ clusterId, credential, operatorVersion: OPERATOR_VERSION });
        this.#config.restart();
      },
      onRegistered: (clusterId) => {
        const message = `registered with ${cluster().spec.controlPlaneBaseUrl} as ${clusterId}`;
        deps.recorder.record(cluster(), { type: 'Normal', reason: Reason.Registered, message });
      },
      onAuthenticated: (condition) => this.#status.setConditions([condition]),
      onSpentToken: (condition) => this.#status.setConditions([condition]),
      onConfigRevision: (revision) => this.#config.revisionSeen(revision),
      onServiceVersion: (version) => this.#version.heard(version),
    });
    this.#version = new OwnVersion({ ...deps, onCondition: (condition) => this.#status.setConditions([condition]) });
    this.#core = new Core({
      ...deps,
      policy: () => this.#policy(),
      reporter: this.#events,
      // A set that brings only a fault names no revision that was read.
      onRead: ({ revision }) => {
        if (revision !== '') this.#status.change({ attemptedRevision: revision });
      },
      onReport: (report, set) => this.#synced(report, set),
      onRewritten: (message) => {
        deps.recorder.record(cluster(), { type: 'Warning', reason: 'SourceHistoryRewritten', message });
        this.#status.setConditions([
          { type: 'SourceHistoryRewritten', status: 'True', reason: Reason.HistoryRewritten, message },
        ]);
      },
      onRunning: () => this.#controllersRun(),
      onFault: (what, fault) => this.#health.note(what, fault),
      onGrants: (grants) => {
        const condition = grantCondition(grants, this.#policy().allowedNamespaces);
        if (condition !== undefined) this.#status.setConditions([condition]);
      },
    });
  }

  get clusterId(): string | undefined {
    return this.#session.clusterId ?? this.#status.status.clusterId;
  }

  get connectivity(): { readonly mode: ConnectivityMode; readonly state: ContactState } | undefined {
    const mode = this.#status.status.connectivityMode;
    return mode === undefined ? undefined : { mode, state: this.#contact.state };
  }

  get droppedEvents(): number {
    return this.#events.dropped;
  }

  /** The `Cluster` resource changed: another token, address, or the pause annotation. */
  clusterChanged(): void {
    // Our own status writes change the resource too; only its spec concerns the registration of one that works.
    const { generation } = this.#deps.cluster().metadata;
    if (generation !== this.#lastGeneration || this.#session.state !== 'open') this.#registrar.clusterChanged();
    this.#lastGeneration = generation;
    this.#core.clusterChanged();
    this.#policyMayHaveChanged();
  }

  /** Runs until aborted; rejects when a loop ends by a fault of ours. */
  async run(signal: AbortSignal): Promise<void> {
    await using _registrar = this.#registrar;
    using _health = this.#health;
    // A fault of one loop ends the others, so that nothing runs half.
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    this.#policyMayHaveChanged();
    const loops: Record<string, Promise<void>> = {
      status: this.#status.run(either),
      events: this.#events.run(either),
      registration: this.#registrar.run(either),
      configuration: this.#config.run(either),
      heartbeat: this.#heartbeat.run(either),
      core: this.#runCore(either),
      version: this.#version.run(either),
    };
    const ends = Object.entries(loops).map(async ([name, loop]) => {
      try {
        await loop;
      } catch (error) {
        if (either.aborted) return;
        stop.abort();
        throw new Error(`the ${name} loop failed`, { cause: error });
      }
    });
    const results = await Promise.allSettled(ends);
    if (this.#session.state === 'open') {
      await this.#events.drain(AbortSignal.timeout(DRAIN_MS)).catch(() => undefined);
    }
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  async #runCore(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve(), { once: true });
    await Promise.race([this.#mayReconcile.promise, aborted.promise]);
    if (!signal.aborted) await this.#core.run(signal);
  }

  #configured(config: AgentConfig, revision: string | undefined): void {
    if (JSON.stringify(config.intervals) !== JSON.stringify(this.#intervals)) {
      this.#intervals = config.intervals;
      this.#heartbeat.intervalChanged();
      this.#events.intervalChanged();
    }
    this.#version.want(config.operator?.desired_version);
    this.#status.change(projectionOf(config, revision));
    this.#policyMayHaveChanged();
    const host = { baseUrl: this.#deps.cluster().spec.controlPlaneBaseUrl, caCertificate: this.#caCertificate };
    openGitTarget(config, this.#keys, host).then(
      (target) => this.#core.read(target),
      (error: unknown) => {
        const message = `the Git read credential cannot be opened: ${(error as Error).message}. Register again so that it is sealed to this cluster's key.`;
        this.#status.setConditions([{ type: 'Synced', status: 'False', reason: Reason.SourceUnreachable, message }]);
      },
    );
  }

  #synced(report: ApplyReport, set: DesiredSet): void {
    const conditions = syncConditions(report);
    const whole = set.scope === 'complete' && isTrue([...conditions], 'Synced');
    if (whole) this.#status.change({ appliedRevision: report.revision });
    this.#status.setConditions(conditions);
  }

  #contactChanged(state: ContactState, message: string): void {
    const connected = connectedCondition(state, message);
    if (connected !== undefined) this.#status.setConditions([connected]);
    if (state !== 'connected') this.#registrar.contactLost();
  }

  #controllersRun(): void {
    // What an earlier process wrote and could not post any more; what it did post is recognized by its keys.
    for (const change of this.#core.snapshot()) this.#events.statusChanged(change);
    this.#health.running();
  }

  #policyMayHaveChanged(): void {
    const policy = policyOf(this.#status.status, this.#deps.cluster());
    if (policy === undefined) return;
    const text = JSON.stringify(policy);
    if (text === this.#lastPolicy) return;
    if (this.#lastPolicy === '') this.#mayReconcile.resolve();
    else this.#core.policyChanged();
    this.#lastPolicy = text;
  }

  #policy(): ClusterPolicy {
    const policy = policyOf(this.#status.status, this.#deps.cluster());
    if (policy === undefined) throw new Error('the core runs before there is a projection');
    return policy;
  }

  #labels(): Record<string, string> {
    const { clusterId } = this;
    return {
      [MANAGED_BY_LABEL]: MANAGED_BY_VALUE,
      ...(clusterId === undefined ? {} : { [CLUSTER_ID_LABEL]: clusterId }),
    };
  }
}
