import type { StatusChange } from '../events/report/reporter.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { KubeEventRecorder } from '../kube/kube-event-recorder.ts';
import type { Term } from '../kube/lease/term.ts';
import { DEFAULT_INTERVALS, type AgentConfig, type Intervals } from '../protocol/agent-config.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Cluster } from '../resources/cluster.ts';
import { CLUSTER_ID_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../resources/labels.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { ClusterIdentity } from './cluster-identity.ts';
import { ClusterStatusWriter } from './cluster-status.ts';
import { ConfigLoop } from './config-loop.ts';
import { connectionConditions, Contact, type ContactState } from './contact.ts';
import { ControllerHealth } from './controller-health.ts';
import { coreReports } from './core-reports.ts';
import { Core } from './core.ts';
import { EventPipeline } from './event-pipeline.ts';
import { PullJobs } from './jobs/pull-jobs.ts';
import { refusedPayloadEvent } from './jobs/refused-payload-event.ts';
import { openGitTarget } from './open-git-target.ts';
import { Heartbeat } from './heartbeat.ts';
import { notOpenedEvent } from './not-opened-event.ts';
import { OwnVersion } from './own-version.ts';
import { PolicyGate } from './policy-gate.ts';
import { runLoops } from './run-loops.ts';
import { ServedConfig } from './served-config.ts';
import { takeConfig, type TakeConfigDeps } from './take-config.ts';
import { wentBack } from './went-back.ts';

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
  readonly deleted: Core['deleted'] = (ref) => this.#core.deleted(ref);
  readonly approvalUsedBy: Core['approvalUsedBy'] = (jti, uid) => this.#core.approvalUsedBy(jti, uid);
  readonly #deps: ClusterSessionDeps;
  readonly #contact: Contact;
  readonly #identity: ClusterIdentity;
  readonly #events: EventPipeline;
  readonly #status: ClusterStatusWriter;
  readonly #config: ConfigLoop;
  readonly #served: ServedConfig;
  readonly #heartbeat: Heartbeat;
  readonly #core: Core;
  readonly #jobs: PullJobs;
  readonly #version: OwnVersion;
  readonly #health: ControllerHealth;
  readonly #policy: PolicyGate;
  #intervals: Intervals = DEFAULT_INTERVALS;
  #caCertificate = '';

  constructor(deps: ClusterSessionDeps) {
    this.#deps = deps;
    const { api, clock, random, logger, namespace, cluster } = deps;
    this.#contact = new Contact({
      clock,
      onChange: (...change) => this.#contactChanged(...change),
      unasked: () => this.#identity.unasked,
    });
    this.#identity = new ClusterIdentity({
      ...deps,
      mayWrite: () => deps.term.check(),
      contact: this.#contact,
      status: () => this.#status,
      enqueue: (event) => this.#events.enqueue(event),
      onFault: (fault) => this.#health.note('the registration cannot go on', fault),
      onConfigRevision: (revision) => this.#config.revisionSeen(revision),
      onServiceVersion: (version) => this.#version.heard(version),
      onAnswered: () => this.#config.answered(),
      onRegistered: (mode) => this.#served.registered(mode),
      onKeyFault: (fault) => this.#health.note("the cluster's keys cannot be used", fault),
      onCredentials: ({ caCertificate }) => {
        this.#caCertificate = caCertificate;
        this.#config.restart();
        this.#jobs.restart();
      },
    });
    this.#events = new EventPipeline({
      api,
      namespace,
      lease: deps.term.lease,
      labels: () => this.#labels(),
      session: this.#identity.session,
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
    this.#served = new ServedConfig({ status: () => this.#status, onChange: () => this.#policy.lookAgain() });
    this.#config = new ConfigLoop({
      session: this.#identity.session,
      contact: this.#contact,
      clock,
      random,
      logger,
      isServed: this.#status.status.configRevision !== undefined,
      onServed: (isServed) => this.#served.tell(isServed),
      onConfig: async (config, revision) => await this.#configured(config, revision),
    });
    this.#heartbeat = new Heartbeat({
      clock,
      intervalMs: () => this.#intervals.heartbeat_seconds * 1000,
      ref: () => this.#status.ref,
      conditions: () => this.#status.conditions,
      source: () => this.#status.source,
      beat: (event) => this.#events.beat(event),
    });
    this.#version = new OwnVersion({ ...deps, onCondition: (condition) => this.#status.setConditions([condition]) });
    this.#policy = new PolicyGate({
      status: () => this.#status.status,
      cluster,
      onChange: () => {
        this.#core.policyChanged();
        this.#jobs.policyChanged();
      },
    });
    const policy = (): ClusterPolicy => this.#policy.policy;
    this.#jobs = new PullJobs({
      ...deps,
      session: this.#identity.session,
      contact: this.#contact,
      policy,
      configured: (signal) => this.#config.caughtUp(signal),
      renewConfig: () => this.#config.restart(),
      keyRing: () => this.#identity.keys?.ring,
      statusOf: (ref) => this.#core.statusOf(ref),
      broughtBy: (subject) => this.#core.broughtBy(subject),
      onRefusedPayload: (job, event, message) =>
        this.#events.enqueue(refusedPayloadEvent(event, job, this.#status, message, clock.now())),
      onFault: (what, fault) => this.#health.note(what, fault),
      onConditions: (conditions) => this.#status.setConditions(conditions),
    });
    this.#core = new Core({
      ...deps,
      ...coreReports({ ...deps, status: this.#status, health: this.#health, policy }),
      policy,
      keyRing: () => this.#identity.keys?.ring,
      onNotOpened: (instance, message) =>
        this.#events.enqueue(notOpenedEvent(instance, this.#status, message, clock.now())),
      reporter: { statusChanged: (change) => this.#tell(change) },
      jobs: this.#jobs.source,
      onPlaces: () => this.#jobs.source.lookAgain(),
      onGone: (object) => this.#jobs.objectGone(object),
      onRunning: () => this.#controllersRun(),
      isReported: (object) => !this.#events.owes(object) && !this.#jobs.owes(object),
    });
  }

  get clusterId(): string | undefined {
    return this.#identity.session.clusterId ?? this.#status.status.clusterId;
  }

  get connectivity(): { readonly mode: ConnectivityMode; readonly state: ContactState } | undefined {
    const mode = this.#status.status.connectivityMode;
    return mode === undefined ? undefined : { mode, state: this.#contact.state };
  }

  get credentialExpiresAt(): Date | undefined {
    return this.#identity.expiresAt;
  }

  get droppedEvents(): number {
    return this.#events.dropped;
  }

  /** The `Cluster` resource changed: another token, address, or the pause annotation. */
  clusterChanged(): void {
    this.#identity.clusterChanged();
    this.#core.clusterChanged();
    this.#policy.lookAgain();
  }

  /** Runs until aborted; rejects when a loop ends by a fault of ours. */
  async run(signal: AbortSignal): Promise<void> {
    await using _identity = this.#identity;
    using _health = this.#health;
    this.#policy.lookAgain();
    const results = await runLoops(
      {
        status: (either) => this.#status.run(either),
        contact: (either) => this.#contact.run(either),
        events: (either) => this.#events.run(either),
        registration: (either) => this.#identity.runRegistration(either),
        rotation: (either) => this.#identity.runRotation(either),
        configuration: (either) => this.#config.run(either),
        heartbeat: (either) => this.#heartbeat.run(either),
        core: (either) => this.#runCore(either),
        jobs: (either) => this.#runJobs(either),
        version: (either) => this.#version.run(either),
      },
      signal,
    );
    if (this.#identity.session.state === 'open') {
      await this.#events.drain(AbortSignal.timeout(DRAIN_MS)).catch(() => undefined);
    }
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  async #runCore(signal: AbortSignal): Promise<void> {
    await this.#policy.opened(signal);
    if (!signal.aborted) await this.#core.run(signal);
  }

  async #runJobs(signal: AbortSignal): Promise<void> {
    await this.#policy.opened(signal);
    if (!signal.aborted) await this.#jobs.run(signal);
  }

  /** What the reconciler did goes out as events, and moves the jobs that asked for it. */
  #tell(change: StatusChange): void {
    this.#events.statusChanged(change);
    this.#jobs.statusChanged(change);
  }

  async #configured(config: AgentConfig, revision: string | undefined): Promise<void> {
    if (JSON.stringify(config.intervals) !== JSON.stringify(this.#intervals)) {
      this.#intervals = config.intervals;
      this.#heartbeat.intervalChanged();
      this.#events.intervalChanged();
    }
    this.#version.want(config.operator?.desired_version);
    const isOlder = wentBack(this.#status.status.configRevision, revision);
    const deps: TakeConfigDeps = {
      status: this.#status,
      changeWay: async (change) => await this.#core.changeWay(change),
      onProjected: () => {
        this.#identity.configured(config);
        this.#policy.lookAgain();
        if (isOlder) this.#tellAll();
      },
      openTarget: async () => {
        const host = { baseUrl: this.#deps.cluster().spec.controlPlaneBaseUrl, caCertificate: this.#caCertificate };
        return await openGitTarget(config, this.#identity.keys, host);
      },
      read: (target) => this.#core.read(target),
    };
    await takeConfig(deps, config, revision);
  }

  /** A control plane that was restored from a backup has forgotten what was said since; all of it is said again. */
  #tellAll(): void {
    this.#deps.logger.warn('the control plane went back to an earlier state; a full snapshot follows');
    const { ref, conditions, source } = this.#status;
    for (const change of [...this.#core.snapshot(), { ref, before: [], after: conditions, source }]) {
      this.#events.statusChanged(change);
    }
  }

  #contactChanged(state: ContactState, message: string, isAsked: boolean): void {
    this.#status.setConditions(connectionConditions(state, message, isAsked));
    if (state !== 'connected') this.#identity.contactLost();
  }

  #controllersRun(): void {
    // What an earlier process wrote and could not post any more; what it did post is recognized by its keys.
    for (const change of this.#core.snapshot()) this.#tell(change);
    this.#health.running();
  }

  #labels(): Record<string, string> {
    const { clusterId } = this;
    return {
      [MANAGED_BY_LABEL]: MANAGED_BY_VALUE,
      ...(clusterId === undefined ? {} : { [CLUSTER_ID_LABEL]: clusterId }),
    };
  }
}
