import type { ClusterApi } from '../kube/cluster-api.ts';
import type { KubeEventRecorder } from '../kube/kube-event-recorder.ts';
import type { AgentConfig } from '../protocol/agent-config.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { AgentEvent } from '../protocol/event.ts';
import type { Cluster } from '../resources/cluster.ts';
import { findCondition, isTrue, type NewCondition } from '../resources/conditions.ts';
import { ROTATE_KEYPAIR_ANNOTATION } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { AgentSession } from './agent-session.ts';
import { announceCredential } from './announce-credential.ts';
import type { ClusterStatusWriter } from './cluster-status.ts';
import type { Contact } from './contact.ts';
import { CredentialKeeper, type CredentialOrigin, type UsableCredentials } from './credential-keeper.ts';
import { CredentialRenewal } from './credential-renewal.ts';
import { publicKeySent, type KeyRing } from './keypair.ts';
import { MissingEndpoints } from './missing-endpoints.ts';
import { OPERATOR_VERSION } from './operator-version.ts';
import { Registrar } from './registrar.ts';
import { RotationLoop } from './rotation-loop.ts';
import { followKeys, pinsOf } from './signing-key-pins.ts';

export interface ClusterIdentityDeps {
  readonly api: ClusterApi;
  readonly cluster: () => Cluster;
  /** Throws once this process must not change anything any more. */
  readonly mayWrite: () => void;
  readonly contact: Contact;
  readonly recorder: KubeEventRecorder;
  readonly status: () => ClusterStatusWriter;
  readonly enqueue: (event: AgentEvent) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** What keeps the Secrets from being read or written; undefined: nothing any more. */
  readonly onFault: (fault: unknown) => void;
  readonly onConfigRevision: (revision: string) => void;
  readonly onServiceVersion: (version: string) => void;
  /** The control plane took a call. */
  readonly onAnswered: () => void;
  /** The mode that a registration named. */
  readonly onRegistered: (mode: ConnectivityMode) => void;
  /** What is wrong with the cluster's own keys; undefined: nothing any more. */
  readonly onKeyFault: (fault: unknown) => void;
  /** Another credential, address or CA is used from now on. */
  readonly onCredentials: (credentials: UsableCredentials) => void;
}

/** What `status.registration` holds of what the control plane said. */
const MAX_MESSAGE = 4096;
/** Reasons of `Authenticated=True` that say more than that the credential is accepted. */
const TELLING: readonly (string | undefined)[] = [Reason.CredentialRotated, Reason.CredentialRecovered];

/** Who this cluster is to its control plane, and whom it takes that for: registration, credentials, keys. */
export class ClusterIdentity implements AsyncDisposable {
  readonly session: AgentSession;
  readonly #deps: ClusterIdentityDeps;
  readonly #keeper: CredentialKeeper;
  readonly #renewal: CredentialRenewal;
  readonly #registrar: Registrar;
  readonly #rotation: RotationLoop;
  #keys: KeyRing | undefined;
  #expiresAt: string | undefined;
  #lastSeen = '';
  readonly #endpoints: MissingEndpoints;
  /** Address and CA of the control plane that is spoken to. */
  #place: string | undefined;

  constructor(deps: ClusterIdentityDeps) {
    this.#deps = deps;
    const { contact, logger, clock, random, api, cluster } = deps;
    const set = (condition: NewCondition): void => this.#set(condition);
    const endpoints = new MissingEndpoints({
      baseUrl: () => cluster().spec.controlPlaneBaseUrl,
      isStalled: () => isTrue(deps.status().conditions, 'Stalled'),
      set,
    });
    this.#endpoints = endpoints;
    this.session = new AgentSession({
      contact,
      logger,
      refresh: async (refused, onlySecret) => await this.#renewal.refresh(refused, onlySecret),
      onAnswer: (call, answer) => {
        endpoints.note(call, answer);
        if (answer.state === 'ok') deps.onAnswered();
      },
      onAuthenticated: set,
    });
    const { session } = this;
    this.#keeper = new CredentialKeeper({
      ...deps,
      session,
      onCredentials: (credentials, origin) => this.#use(credentials, origin),
    });
    const keeper = this.#keeper;
    this.#renewal = new CredentialRenewal({
      keeper,
      session,
      cluster,
      keys: () => this.#keys,
      canRecover: () => deps.status().status.configRevision !== undefined,
      clock,
      random,
      logger,
      onAnswered: () => contact.answered(),
      onKeySent: async (sent, signal) => {
        await publicKeySent(api, cluster(), sent, signal);
        const keys = this.#keys;
        if (keys !== undefined && keys.publicJwk.kid === sent.kid) this.#keys = { ...keys, isToBeSent: false };
      },
    });
    this.#rotation = new RotationLoop({
      session,
      renewal: this.#renewal,
      cause: async (signal) => await this.#cause(signal),
      clock,
      random,
      logger,
      onAuthenticated: set,
    });
    this.#registrar = new Registrar({
      ...deps,
      keeper,
      session,
      onKeys: (keys) => {
        this.#keys = keys;
        if (keys.isToBeSent) this.#rotation.lookAgain();
      },
      onRegistered: (clusterId, mode) => {
        deps.onRegistered(mode);
        const message = `registered with ${cluster().spec.controlPlaneBaseUrl} as ${clusterId}`;
        deps.recorder.record(cluster(), { type: 'Normal', reason: Reason.Registered, message });
      },
      onAuthenticated: set,
      onSpentToken: set,
      onJudged: (judgement) => {
        const said = judgement.state === 'refused' ? { message: judgement.message.slice(0, MAX_MESSAGE) } : {};
        deps.status().change({ registration: { ...judgement, ...said } });
      },
    });
    this.session.onStopped(() => this.#registrar.lookAgain());
  }

  /** Why the control plane is not asked for anything now; undefined: it is. */
  get unasked(): string | undefined {
    switch (this.session.state) {
      case 'open':
        return undefined;
      case 'stopped':
        return 'it refused this operator (see Authenticated), which asks again every 15 minutes';
      case 'unregistered':
        return 'this operator is not registered (see Authenticated)';
    }
  }

  /** The cluster's own keys; undefined before the first look at them. */
  get keys(): KeyRing | undefined {
    return this.#keys;
  }

  /** When the credential in use ends; undefined where nobody said or there is none. */
  get expiresAt(): Date | undefined {
    const time = Date.parse(this.#expiresAt ?? '');
    return Number.isNaN(time) ? undefined : new Date(time);
  }

  /** The `Cluster` resource changed. */
  clusterChanged(): void {
    // Our own status writes change the resource too, and concern nobody here.
    const { generation, annotations } = this.#deps.cluster().metadata;
    const seen = `${generation} ${annotations?.[ROTATE_KEYPAIR_ANNOTATION] ?? ''}`;
    if (seen === this.#lastSeen) return;
    this.#lastSeen = seen;
    this.#registrar.lookAgain();
    this.#rotation.lookAgain();
  }

  contactLost(): void {
    this.#registrar.contactLost();
  }

  /** Takes what `/config` says about keys and credential. */
  configured(config: AgentConfig): void {
    const status = this.#deps.status();
    const { change, condition } = followKeys(status.status, config);
    status.change(change);
    if (condition !== undefined) this.#set(condition);
    this.#rotation.configured(config.credential?.rotate_after);
    this.#showTimes(config.credential?.expires_at);
  }

  async runRegistration(signal: AbortSignal): Promise<void> {
    await this.#registrar.run(signal);
  }

  async runRotation(signal: AbortSignal): Promise<void> {
    await this.#rotation.run(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#renewal[Symbol.dispose]();
    await this.#keeper[Symbol.asyncDispose]();
  }

  #use(credentials: UsableCredentials, origin: CredentialOrigin): void {
    const { clusterId, expiresAt } = credentials;
    const { cluster, recorder, clock, enqueue } = this.#deps;
    const place = `${cluster().spec.controlPlaneBaseUrl}\n${credentials.caCertificate}`;
    if (this.#place !== undefined && place !== this.#place) {
      this.#deps.contact.moved();
      this.#endpoints.moved();
    }
    this.#place = place;
    const status = this.#deps.status();
    status.change({ clusterId, operatorVersion: OPERATOR_VERSION, ...pinsOf(credentials, status.status) });
    this.#rotation.credentialChanged(credentials);
    this.#expiresAt = undefined;
    this.#showTimes(expiresAt);
    const { ref, source, conditions } = status;
    const { condition, event, record } = announceCredential({
      credentials,
      origin,
      ref,
      source,
      conditions,
      now: clock.now(),
    });
    if (condition !== undefined) status.setConditions([condition]);
    if (event !== undefined) enqueue(event);
    if (record !== undefined) recorder.record(cluster(), record);
    this.#deps.onCredentials(credentials);
  }

  #showTimes(expiresAt: string | undefined): void {
    this.#expiresAt = expiresAt ?? this.#expiresAt;
    const { rotateAfter } = this.#rotation;
    const credential = {
      ...(this.#expiresAt === undefined ? {} : { expiresAt: this.#expiresAt }),
      ...(rotateAfter === undefined ? {} : { rotateAfter }),
    };
    this.#deps.status().change({ credential });
  }

  /** Why a rotation does not wait for its time. */
  async #cause(signal: AbortSignal): Promise<string | undefined> {
    if (this.#keys?.isToBeSent === true) return `key ${this.#keys.publicJwk.kid}`;
    if (this.#deps.cluster().spec.security?.mtls?.enabled !== true) return undefined;
    const { clientCertificate } = await this.#keeper.read(signal);
    return clientCertificate === undefined ? 'certificate' : undefined;
  }

  #set(condition: NewCondition): void {
    const status = this.#deps.status();
    const before = findCondition(status.conditions, condition.type);
    // That the credential is accepted is known while the condition says how it was replaced.
    const saysLess =
      condition.reason === Reason.Registered && before?.status === 'True' && TELLING.includes(before.reason);
    if (!saysLess) status.setConditions([condition]);
  }
}
