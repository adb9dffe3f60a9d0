import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Condition } from '../protocol/condition.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import type { RegisterResponse } from '../protocol/register.ts';
import { CLUSTER_RULES } from '../resources/cluster-rules.ts';
import type { Cluster } from '../resources/cluster.ts';
import { brokenRule } from '../resources/object-rule.ts';
import { Reason } from '../resources/reasons.ts';
import { backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';
import type { AgentSession } from './agent-session.ts';
import { CallPatience } from './call-patience.ts';
import { fittingCertificate, requestCertificate } from './client-certificate.ts';
import type { Contact } from './contact.ts';
import type { CredentialKeeper, CredentialOrigin } from './credential-keeper.ts';
import { registrationFingerprint, type Credentials } from './credentials.ts';
import { ensureKeypair, KeyRingUnreadable, labelKeypair, publicKeySent, type KeyRing } from './keypair.ts';
import { kubeSystemUid } from './kube-system-uid.ts';
import {
  deleteRegistrationSecret,
  nothingToRegisterWith,
  spentFingerprints,
  spentTokenCondition,
  tokenInSecret,
} from './registration-token.ts';
import { credentialsOf, registerCluster } from './register-cluster.ts';
import { isVerifiedBy } from './verify-server.ts';

export interface RegistrarDeps {
  readonly api: ClusterApi;
  /** The `Cluster` resource as it is now. */
  readonly cluster: () => Cluster;
  readonly keeper: CredentialKeeper;
  readonly session: AgentSession;
  readonly contact: Contact;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** What keeps the Secrets from being read or written; undefined: nothing any more. */
  readonly onFault: (fault: unknown) => void;
  readonly onKeys: (keys: KeyRing) => void;
  readonly onRegistered: (clusterId: string, mode: ConnectivityMode) => void;
  /** What is wrong with the keypair Secret; undefined: nothing any more. */
  readonly onKeyFault: (fault: unknown) => void;
  readonly onAuthenticated: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  /** `RegistrationTokenSpent`, where there is something to say. */
  readonly onSpentToken: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
  /** What became of a token that was offered. */
  readonly onJudged: (judgement: TokenJudgement) => void;
}

/** What became of a registration token, named by its fingerprint. */
export type TokenJudgement =
  | { readonly token: string; readonly state: 'registered' }
  | { readonly token: string; readonly state: 'refused'; readonly reason: Reason; readonly message: string };

type TokenPlace = 'resource' | 'secret';

const RETRY = { minMs: 1000, maxMs: 60_000 };
/** How often the Secret is read while there is no accepted credential or no answer: an admin may mend either by hand. */
const LOOK_MS = 10_000;
const IDLE_MS = 300_000;

/**
 * Gives the session a credential: the one in the Secret, or a new one for the registration token in the `Cluster`
 * resource or, where that one is of no use, in the Secret that the printed command makes. A token is offered once: a refused or a used one is not offered again until it changes.
 */
export class Registrar {
  readonly #deps: RegistrarDeps;
  readonly #wake = new Wake();
  /** Fingerprints: of the token in the resource, and of the one in the Secret. */
  readonly #refused = new Map<TokenPlace, string>();
  /** Fingerprints of tokens that are used. */
  #spent: readonly string[] = [];
  /** Of the call that registers. */
  readonly #patience: CallPatience;
  #keys: KeyRing | undefined;
  #failures = 0;
  /** Waits as long as nothing is expected to change. */
  #isIdle = false;

  constructor(deps: RegistrarDeps) {
    this.#deps = deps;
    this.#patience = new CallPatience(deps);
  }

  /** The `Cluster` resource changed, or the credential is refused. */
  lookAgain(): void {
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
        wait = await this.#deps.keeper.exclusive(async () => await this.#step(signal));
        this.#deps.onFault(undefined);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.logger.warn({ err: error }, 'the registration cannot go on now');
        this.#deps.onFault(error);
        wait = this.#retry();
      }
      this.#isIdle = wait === IDLE_MS;
      await this.#wake.waitAtMost(wait, this.#deps.clock, signal).catch(() => undefined);
      this.#isIdle = false;
    }
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
    const keys = await this.#lookAtKeys(cluster, signal);
    const found = await this.#deps.keeper.read(signal);
    const credentials = (found.token === undefined ? await this.#deps.keeper.putBack(signal) : undefined) ?? found;
    this.#spent = spentFingerprints(cluster, credentials, this.#spent);
    const spent = spentTokenCondition(cluster, this.#spent);
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
      if (this.#spent.includes(registrationFingerprint(token))) await this.#forgetToken(cluster, signal);
    }
    if (credentials.token !== undefined) {
      await this.#deps.keeper.tidy(credentials, signal);
      const wait = this.#use(credentials, 'found');
      return keys instanceof KeyRingUnreadable ? LOOK_MS : wait;
    }
    if (this.#refused.size === 0) {
      this.#deps.onAuthenticated({
        type: 'Authenticated',
        status: 'False',
        reason: Reason.NotRegistered,
        message: nothingToRegisterWith(cluster, inSecret, this.#spent),
      });
    }
    return LOOK_MS;
  }

  /** They decrypt and do nothing else: what is wrong with them keeps nothing else from going on. */
  async #lookAtKeys(cluster: Cluster, signal: AbortSignal): Promise<KeyRing | KeyRingUnreadable> {
    try {
      const keys = await ensureKeypair(this.#deps.api, cluster, this.#keys, signal);
      this.#know(keys);
      this.#deps.onKeyFault(undefined);
      return keys;
    } catch (error) {
      if (!(error instanceof KeyRingUnreadable)) throw error;
      this.#deps.onKeyFault(error);
      return error;
    }
  }

  #know(keys: KeyRing): void {
    this.#keys = keys;
    this.#deps.onKeys(keys);
  }

  #mayOffer(token: string, place: TokenPlace, credentials: Credentials): boolean {
    const fingerprint = registrationFingerprint(token);
    if (fingerprint === this.#refused.get(place) || this.#spent.includes(fingerprint)) return false;
    // A credential of unknown origin is used as long as it is accepted.
    const unknownOrigin = credentials.token !== undefined && credentials.spentTokens.length === 0;
    return !unknownOrigin || this.#deps.session.state === 'stopped';
  }

  async #register(
    cluster: Cluster,
    { token, place }: { readonly token: string; readonly place: TokenPlace },
    keys: KeyRing | KeyRingUnreadable,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<number> {
    if (keys instanceof KeyRingUnreadable) {
      // A registration names a key; where it would be named nothing, nothing could be sealed to this cluster.
      if (credentials.token !== undefined && this.#deps.session.state !== 'stopped')
        return this.#use(credentials, 'found');
      this.#misconfigured(keys.message);
      return LOOK_MS;
    }
    const { api, keeper, contact, logger } = this.#deps;
    const fingerprint = registrationFingerprint(token);
    const client = keeper.clientFor(credentials);
    const left = this.#patience.left(client, fingerprint);
    if (left > 0) return Math.min(left, LOOK_MS);
    const clusterUid = await kubeSystemUid(api, signal);
    const wantsCertificate =
      cluster.spec.security?.mtls?.enabled === true && credentials.clientCertificate?.from !== 'admin';
    const request = wantsCertificate ? await requestCertificate() : undefined;
    const csr = request === undefined ? {} : { csr: request.csr };
    const outcome = await registerCluster(client, { token, clusterUid, publicKey: keys.publicJwk, ...csr }, signal);
    if (outcome.state !== 'unavailable') this.#patience.answered();
    switch (outcome.state) {
      case 'registered': {
        contact.answered();
        const granted = await this.#withFittingRoots(outcome.granted, cluster, signal);
        const spentTokens = [fingerprint, ...this.#spent];
        const { certificate, fault } = fittingCertificate(granted.client_certificate, request?.key);
        if (fault !== undefined) logger.warn({ fault }, 'the client certificate of the registration is not used');
        await keeper.save({ ...credentialsOf(granted), ...certificate, spentTokens }, undefined, signal);
        await labelKeypair(api, cluster, granted.cluster_id, signal);
        await publicKeySent(api, cluster, keys.publicJwk, signal);
        this.#know({ ...keys, isToBeSent: false });
        this.#failures = 0;
        logger.info({ clusterId: granted.cluster_id }, 'registered');
        this.#deps.onRegistered(granted.cluster_id, granted.connectivity_mode);
        if (place === 'secret') await this.#forgetToken(cluster, signal);
        const wait = this.#use(await keeper.read(signal), 'registered');
        this.#deps.onJudged({ token: fingerprint, state: 'registered' });
        return wait;
      }
      case 'refused':
        contact.answered();
        this.#refused.set(place, fingerprint);
        logger.error({ reason: outcome.reason }, outcome.message);
        this.#deps.onJudged({ token: fingerprint, ...outcome });
        this.#deps.onAuthenticated({
          type: 'Authenticated',
          status: 'False',
          reason: outcome.reason,
          message: outcome.message,
        });
        return LOOK_MS;
      case 'unavailable':
        if (outcome.answered) contact.answered();
        else contact.failed(outcome.message);
        return Math.min(this.#patience.failed(client, fingerprint, outcome.retryAfterMs), LOOK_MS);
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

  #use(credentials: Credentials, origin: CredentialOrigin): number {
    if (!this.#deps.keeper.use(credentials, origin)) {
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
    const works = this.#deps.session.state !== 'stopped' && this.#deps.contact.state === 'connected';
    return works ? IDLE_MS : LOOK_MS;
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
