import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Condition } from '../protocol/condition.ts';
import type { RegisterResponse } from '../protocol/register.ts';
import { CLUSTER_RULES } from '../resources/cluster-rules.ts';
import type { Cluster } from '../resources/cluster.ts';
import { brokenRule } from '../resources/object-rule.ts';
import { Reason } from '../resources/reasons.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';
import { AgentClient } from './agent-client.ts';
import type { AgentSession } from './agent-session.ts';
import type { Contact } from './contact.ts';
import { readCredentials, registrationFingerprint, storeCredentials, type Credentials } from './credentials.ts';
import { ensureKeypair, labelKeypair, KeyRingUnreadable, type KeyRing } from './keypair.ts';
import { USER_AGENT } from './operator-version.ts';
import {
  deleteRegistrationSecret,
  nothingToRegisterWith,
  spentTokenCondition,
  tokenInSecret,
} from './registration-token.ts';
import { registerCluster } from './register-cluster.ts';
import { isVerifiedBy } from './verify-server.ts';

export interface RegistrarDeps {
  readonly api: ClusterApi;
  /** The `Cluster` resource as it is now. */
  readonly cluster: () => Cluster;
  /** Throws once this process must not change anything any more. */
  readonly mayWrite: () => void;
  readonly session: AgentSession;
  readonly contact: Contact;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onKeys: (keys: KeyRing) => void;
  readonly onCredentials: (credentials: Credentials & { readonly clusterId: string }) => void;
  readonly onRegistered: (clusterId: string) => void;
  readonly onAuthenticated: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  /** `RegistrationTokenSpent`, where there is something to say. */
  readonly onSpentToken: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  readonly onConfigRevision: (revision: string) => void;
  readonly onServiceVersion: (version: string) => void;
}

type TokenPlace = 'resource' | 'secret';

const RETRY = { minMs: 1000, maxMs: 60_000 };
/** How often the Secret is read while there is no accepted credential or no answer: an admin may mend either by hand. */
const LOOK_MS = 10_000;
const IDLE_MS = 300_000;

/**
 * Gives the session a credential: the one in the Secret, or a new one for the registration token in the `Cluster`
 * resource or, where that one is of no use, in the Secret that the printed command makes. A token is offered once: a refused or a used one is not offered again until it changes.
 */
export class Registrar implements AsyncDisposable {
  readonly #deps: RegistrarDeps;
  readonly #wake = new Wake();
  #client: { readonly client: AgentClient; readonly key: string } | undefined;
  /** Fingerprints: of the token in the resource, and of the one in the Secret. */
  readonly #refused = new Map<TokenPlace, string>();
  #failures = 0;
  /** Waits as long as nothing is expected to change. */
  #isIdle = false;

  constructor(deps: RegistrarDeps) {
    this.#deps = deps;
  }

  /** The `Cluster` resource changed. */
  clusterChanged(): void {
    this.#wake.ring();
  }

  /** The control plane stopped answering: an admin may mend that by another CA in the Secret. */
  contactLost(): void {
    if (this.#isIdle) this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let wait: number;
      try {
        wait = await this.#step(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.logger.warn({ err: error }, 'the registration cannot go on now');
        if (error instanceof KeyRingUnreadable) this.#misconfigured(error.message);
        wait = this.#retry();
      }
      this.#isIdle = wait === IDLE_MS;
      await this.#wake.waitAtMost(wait, this.#deps.clock, signal).catch(() => undefined);
      this.#isIdle = false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.client[Symbol.asyncDispose]();
  }

  /** Answers how long nothing will be to do, in milliseconds. */
  async #step(signal: AbortSignal): Promise<number> {
    const cluster = this.#deps.cluster();
    if (!URL.canParse(cluster.spec.controlPlaneBaseUrl)) {
      this.#misconfigured('spec.controlPlaneBaseUrl is not a URL; set the address of the control plane.');
      return IDLE_MS;
    }
    const broken = brokenRule(CLUSTER_RULES, cluster, undefined);
    if (broken !== undefined) {
      this.#misconfigured(`spec: ${broken.message}`);
      return IDLE_MS;
    }
    const keys = await ensureKeypair(this.#deps.api, cluster, signal);
    this.#deps.onKeys(keys);
    const credentials = await readCredentials(this.#deps.api, cluster.metadata.namespace ?? '', signal);
    const spent = spentTokenCondition(cluster, credentials);
    if (spent !== undefined) this.#deps.onSpentToken(spent);
    const inResource = cluster.spec.registration?.token;
    if (inResource !== undefined && this.#mayOffer(inResource, 'resource', credentials)) {
      return this.#register(cluster, { token: inResource, place: 'resource' }, keys, credentials, signal);
    }
    const inSecret = await tokenInSecret(this.#deps.api, cluster, signal);
    if (inSecret.state === 'there') {
      const { token } = inSecret;
      // A way back where nothing works; a credential that works is not given up for it.
      const isNeeded = credentials.token === undefined || this.#deps.session.state === 'stopped';
      if (isNeeded && this.#mayOffer(token, 'secret', credentials)) {
        return this.#register(cluster, { token, place: 'secret' }, keys, credentials, signal);
      }
      if (credentials.spentTokens.includes(registrationFingerprint(token))) await this.#forgetToken(cluster, signal);
    }
    if (credentials.token !== undefined) return this.#use(credentials, cluster);
    if (this.#refused.size === 0) {
      this.#deps.onAuthenticated({
        type: 'Authenticated',
        status: 'False',
        reason: Reason.NotRegistered,
        message: nothingToRegisterWith(cluster, inSecret),
      });
    }
    return LOOK_MS;
  }

  #mayOffer(token: string, place: TokenPlace, credentials: Credentials): boolean {
    const fingerprint = registrationFingerprint(token);
    if (fingerprint === this.#refused.get(place) || credentials.spentTokens.includes(fingerprint)) return false;
    // A credential of unknown origin is used as long as it is accepted.
    const unknownOrigin = credentials.token !== undefined && credentials.spentTokens.length === 0;
    return !unknownOrigin || this.#deps.session.state === 'stopped';
  }

  async #register(
    cluster: Cluster,
    { token, place }: { readonly token: string; readonly place: TokenPlace },
    keys: KeyRing,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<number> {
    const clusterUid = await kubeSystemUid(this.#deps.api, signal);
    const client = this.#clientFor(cluster, credentials.caCertificate);
    const outcome = await registerCluster(client, { token, clusterUid, publicKey: keys.publicJwk }, signal);
    switch (outcome.state) {
      case 'registered': {
        this.#deps.contact.answered();
        const spent = [registrationFingerprint(token), ...credentials.spentTokens];
        await this.#store(cluster, await this.#withFittingRoots(outcome.granted, cluster, signal), spent, signal);
        await labelKeypair(this.#deps.api, cluster, outcome.granted.cluster_id, signal);
        this.#failures = 0;
        this.#deps.logger.info({ clusterId: outcome.granted.cluster_id }, 'registered');
        this.#deps.onRegistered(outcome.granted.cluster_id);
        if (place === 'secret') await this.#forgetToken(cluster, signal);
        return this.#use(await readCredentials(this.#deps.api, cluster.metadata.namespace ?? '', signal), cluster);
      }
      case 'refused':
        this.#deps.contact.answered();
        this.#refused.set(place, registrationFingerprint(token));
        this.#deps.logger.error({ reason: outcome.reason }, outcome.message);
        this.#deps.onAuthenticated({
          type: 'Authenticated',
          status: 'False',
          reason: outcome.reason,
          message: outcome.message,
        });
        return LOOK_MS;
      case 'unavailable':
        this.#deps.contact.failed(outcome.message);
        return Math.max(outcome.retryAfterMs ?? 0, this.#retry());
    }
  }

  /** Roots that do not verify the server that is reached, such as those behind a proxy, would cut this operator off. */
  async #withFittingRoots(granted: RegisterResponse, cluster: Cluster, signal: AbortSignal): Promise<RegisterResponse> {
    const roots = granted.ca_certificate;
    if (roots === '' || (await isVerifiedBy(roots, cluster.spec.controlPlaneBaseUrl, signal))) return granted;
    this.#deps.logger.warn('the roots that the control plane names do not verify its address; they are not kept');
    return { ...granted, ca_certificate: '' };
  }

  /** A spent token that cannot be deleted harms nobody; it is tried again at the next look. */
  async #forgetToken(cluster: Cluster, signal: AbortSignal): Promise<void> {
    try {
      await deleteRegistrationSecret(this.#deps.api, cluster, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#deps.logger.warn({ err: error }, 'the Secret with the spent registration token cannot be deleted');
    }
  }

  /** The token is spent, so the answer must not be lost to one failed write. */
  async #store(
    cluster: Cluster,
    granted: RegisterResponse,
    spentTokens: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await storeCredentials(this.#deps.api, cluster, granted, spentTokens, signal);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#deps.logger.warn({ err: error, attempt }, 'the new credential cannot be saved yet');
        await this.#deps.clock.sleep(backoffMs(RETRY, attempt, this.#deps.random), signal);
      }
    }
  }

  #use(credentials: Credentials, cluster: Cluster): number {
    const { token, clusterId = cluster.status?.clusterId } = credentials;
    if (token === undefined || clusterId === undefined) {
      this.#deps.onAuthenticated({
        type: 'Authenticated',
        status: 'False',
        reason: Reason.NotRegistered,
        message:
          'The credential Secret has a token but not the label app.service.io/cluster-id, so nobody knows whose it is. Add the label, or set a fresh registration token as spec.registration.token.',
      });
      return LOOK_MS;
    }
    this.#failures = 0;
    const identity = { token, clusterId };
    const client = this.#clientFor(cluster, credentials.caCertificate);
    if (!this.#deps.session.uses(client, identity)) {
      this.#deps.onCredentials({ ...credentials, clusterId });
      this.#deps.session.use(client, identity);
    }
    const works = this.#deps.session.state !== 'stopped' && this.#deps.contact.state === 'connected';
    return works ? IDLE_MS : LOOK_MS;
  }

  /** One client for one address and CA; another address or CA gets another. */
  #clientFor(cluster: Cluster, caCertificate: string): AgentClient {
    const baseUrl = cluster.spec.controlPlaneBaseUrl;
    const key = `${baseUrl}\n${caCertificate}`;
    if (this.#client?.key === key) return this.#client.client;
    const old = this.#client?.client;
    const { clock, mayWrite, onConfigRevision, onServiceVersion } = this.#deps;
    const userAgent = USER_AGENT;
    const heard = { onConfigRevision, onServiceVersion };
    const client = new AgentClient({ baseUrl, caCertificate, userAgent, clock, mayWrite, ...heard });
    this.#client = { client, key };
    old?.[Symbol.asyncDispose]().catch(() => undefined);
    return client;
  }

  #misconfigured(message: string): void {
    const reason = Reason.ConfigurationInvalid;
    this.#deps.onAuthenticated({ type: 'Authenticated', status: 'False', reason, message });
  }

  #retry(): number {
    this.#failures += 1;
    return backoffMs(RETRY, this.#failures, this.#deps.random);
  }
}

/** The UID of `kube-system` names a cluster for its lifetime. */
async function kubeSystemUid(api: ClusterApi, signal: AbortSignal): Promise<string> {
  const namespace = await api.get({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' }, signal);
  const uid = namespace?.metadata.uid;
  if (uid === undefined) throw new Error('the namespace kube-system cannot be read, its UID names this cluster');
  return uid;
}
