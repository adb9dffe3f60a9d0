import type { PublicJwk } from '../protocol/register.ts';
import type { Cluster } from '../resources/cluster.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import type { AgentClient, AgentIdentity } from './agent-client.ts';
import type { AgentSession, RefreshOutcome } from './agent-session.ts';
import { CallPatience } from './call-patience.ts';
import { fittingCertificate, requestCertificate } from './client-certificate.ts';
import type { CredentialKeeper, UsableCredentials } from './credential-keeper.ts';
import type { Credentials } from './credentials.ts';
import type { KeyRing } from './keypair.ts';
import {
  recoverCredential,
  rotateCredential,
  type GrantedCredential,
  type ReplacementOutcome,
} from './replace-credential.ts';

export interface CredentialRenewalDeps {
  readonly keeper: CredentialKeeper;
  readonly session: AgentSession;
  readonly cluster: () => Cluster;
  /** The cluster's own keys; undefined before the first look at them. */
  readonly keys: () => KeyRing | undefined;
  /** Answers of this control plane carried a revision: then it has `recover`. */
  readonly canRecover: () => boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** The control plane answered one of these calls. */
  readonly onAnswered: () => void;
  /** The control plane has the current public key by now. */
  readonly onKeySent: (sent: PublicJwk, signal: AbortSignal) => Promise<void>;
}

export type RotationOutcome =
  | { readonly state: 'rotated'; readonly withoutCertificate?: string }
  /** The Secret held another credential by then; that one is used. */
  | { readonly state: 'adopted' }
  | { readonly state: 'refused'; readonly status: number; readonly message: string }
  | { readonly state: 'unavailable'; readonly message: string; readonly retryAfterMs?: number };

/** All of these calls are about one thing. */
const SUBJECT = 'credential';

/**
 * Replaces the credential that is in use: by schedule with itself (`rotate`), or after it was refused (`refresh`). Either
 * way the new one stands in the Secret before any call is made with it, so a crash in between leaves the old one, which the
 * control plane takes for the grace period.
 */
export class CredentialRenewal implements Disposable {
  readonly #deps: CredentialRenewalDeps;
  readonly #stop = new AbortController();
  #refreshing: { readonly token: string; readonly outcome: Promise<RefreshOutcome> } | undefined;
  /** Of the calls that give another credential. */
  readonly #patience: CallPatience;

  constructor(deps: CredentialRenewalDeps) {
    this.#deps = deps;
    this.#patience = new CallPatience(deps);
  }

  /** With the present credential. Rejects when aborted, and with KubeError when the Secret cannot be read or written. */
  async rotate(signal: AbortSignal): Promise<RotationOutcome> {
    return await this.#deps.keeper.exclusive(async () => await this.#rotate(signal));
  }

  /**
   * What can be done about a credential that was refused with 401, once for all who met that: the Secret is read again; if
   * it holds the same, the control plane is asked for another one.
   *
   * @param onlySecret nothing but reading the Secret: for a session that has stopped
   */
  async refresh(refused: AgentIdentity, onlySecret: boolean): Promise<RefreshOutcome> {
    const token = refused.token.expose();
    if (this.#refreshing?.token !== token) {
      const outcome = this.#deps.keeper.exclusive(async () => await this.#refresh(refused, onlySecret));
      const mine = { token, outcome };
      this.#refreshing = mine;
      const forget = (): void => {
        if (this.#refreshing === mine) this.#refreshing = undefined;
      };
      outcome.then(forget, forget);
    }
    return await this.#refreshing.outcome;
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error('the operator is stopping'));
  }

  async #refresh(refused: AgentIdentity, onlySecret: boolean): Promise<RefreshOutcome> {
    const { keeper, session, logger } = this.#deps;
    const { signal } = this.#stop;
    if (session.clusterId === refused.clusterId && !session.isToken(refused.token)) return { state: 'replaced' };
    try {
      const present = await keeper.read(signal);
      if (present.token !== undefined && present.token.expose() !== refused.token.expose()) {
        logger.info('the credential Secret has changed, going on with what it holds now');
        return keeper.use(present, 'found') ? { state: 'replaced' } : { state: 'refused' };
      }
      if (onlySecret) return { state: 'refused' };
      const wait = this.#patience.left(keeper.clientFor(present), SUBJECT);
      if (wait > 0) return { state: 'unavailable', message: 'the credential is refused', retryAfterMs: wait };
      return await this.#replace(present, refused, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, 'the credential is refused and cannot be replaced now');
      return {
        state: 'unavailable',
        message: `the credential is refused, and the Secret: ${(error as Error).message}`,
      };
    }
  }

  async #replace(present: Credentials, refused: AgentIdentity, signal: AbortSignal): Promise<RefreshOutcome> {
    const { keeper, keys, canRecover, logger } = this.#deps;
    const ring = keys()?.ring;
    let recovered: ReplacementOutcome | undefined;
    if (canRecover() && ring !== undefined) {
      const client = keeper.clientFor(present);
      recovered = this.#heard(client, await recoverCredential(client, refused.clusterId, ring, signal));
    }
    if (recovered?.state === 'granted') {
      logger.warn(
        'the control plane did not know the credential any more and gave another one, sealed to the cluster key',
      );
      const next = { token: refused.token, clusterId: refused.clusterId, present, granted: recovered.granted };
      await this.#saveAndUse(next, 'recovered', undefined, signal);
      return { state: 'replaced' };
    }
    // An older control plane has no such endpoint.
    if (recovered === undefined || (recovered.state === 'refused' && recovered.answer.status === 404)) {
      const rotated = await this.#rotate(signal);
      if (rotated.state === 'rotated' || rotated.state === 'adopted') return { state: 'replaced' };
      return rotated.state === 'refused' ? { state: 'refused' } : rotated;
    }
    if (recovered.state === 'refused' || recovered.state === 'sealed') {
      const { message } = recovered.state === 'refused' ? recovered.answer : recovered;
      logger.warn({ message }, 'the credential is refused, and there is no other to be had');
      return { state: 'refused' };
    }
    return recovered;
  }

  /** Whoever asks next, for whatever cause, waits as long as this answer wants it. */
  #heard(client: AgentClient, outcome: ReplacementOutcome): ReplacementOutcome {
    if (outcome.state === 'unavailable') {
      return { ...outcome, retryAfterMs: this.#patience.failed(client, SUBJECT, outcome.retryAfterMs) };
    }
    this.#patience.answered();
    this.#deps.onAnswered();
    return outcome;
  }

  async #rotate(signal: AbortSignal): Promise<RotationOutcome> {
    const { keeper, session, cluster, keys, onKeySent } = this.#deps;
    const present = await keeper.read(signal);
    const { token, clusterId = session.clusterId } = present;
    if (token === undefined || clusterId === undefined) {
      return { state: 'unavailable', message: 'the credential Secret holds no credential' };
    }
    if (!session.isToken(token)) {
      keeper.use(present, 'found');
      return { state: 'adopted' };
    }
    const wantsCertificate =
      cluster().spec.security?.mtls?.enabled === true && present.clientCertificate?.from !== 'admin';
    const request = wantsCertificate ? await requestCertificate() : undefined;
    const publicKey = keys()?.publicJwk;
    const client = keeper.clientFor(present);
    const left = this.#patience.left(client, SUBJECT);
    if (left > 0) return { state: 'unavailable', message: 'the last request was not answered', retryAfterMs: left };
    const identity = { token, clusterId };
    const parts = publicKey === undefined ? {} : { publicKey };
    const csr = request === undefined ? {} : { csr: request.csr };
    let outcome = this.#heard(client, await rotateCredential(client, identity, { ...parts, ...csr }, signal));
    let refusedRequest: string | undefined;
    if (request !== undefined && outcome.state === 'refused' && outcome.answer.status === 400) {
      // The credential must not run out because of a certificate that is not given.
      refusedRequest = outcome.answer.message;
      outcome = this.#heard(client, await rotateCredential(client, identity, parts, signal));
    }
    if (outcome.state === 'unavailable') return outcome;
    if (outcome.state === 'sealed') return { state: 'unavailable', message: outcome.message };
    if (outcome.state === 'refused') return await this.#refused(outcome.answer, token, signal);
    const { granted } = outcome;
    const { certificate, fault } = fittingCertificate(granted.clientCertificate, request?.key);
    const next = { token, clusterId, present, granted };
    if (!(await this.#saveAndUse(next, 'rotated', certificate, signal))) return { state: 'adopted' };
    if (publicKey !== undefined) await onKeySent(publicKey, signal);
    const without = refusedRequest ?? fault;
    return wantsCertificate && without !== undefined
      ? { state: 'rotated', withoutCertificate: without }
      : { state: 'rotated' };
  }

  async #refused(
    answer: Extract<ReplacementOutcome, { readonly state: 'refused' }>['answer'],
    token: Secret,
    signal: AbortSignal,
  ): Promise<RotationOutcome> {
    const { keeper, session } = this.#deps;
    if (answer.code === 'already_rotated') {
      const present = await keeper.read(signal);
      if (present.token !== undefined && present.token.expose() !== token.expose() && keeper.use(present, 'found')) {
        return { state: 'adopted' };
      }
    }
    if (answer.status === 403) session.stop(answer);
    return { state: 'refused', status: answer.status, message: `${answer.code}: ${answer.message}` };
  }

  /** False when somebody else put another credential into the Secret meanwhile; then that one is used. */
  async #saveAndUse(
    {
      token,
      clusterId,
      present,
      granted,
    }: Pick<UsableCredentials, 'token' | 'clusterId'> & {
      readonly present: Credentials;
      readonly granted: GrantedCredential;
    },
    origin: 'rotated' | 'recovered',
    certificate: ReturnType<typeof fittingCertificate>['certificate'],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { keeper, clock, cluster } = this.#deps;
    const saved = await keeper.save(
      {
        token: granted.token,
        expiresAt: granted.expiresAt,
        rotateAfter: granted.rotateAfter,
        clusterId,
        ...(origin === 'rotated' ? { rotatedAt: clock.now().toISOString() } : {}),
        caCertificate: present.caCertificate,
        ...certificate,
        keepsCertificate: cluster().spec.security?.mtls?.enabled === true,
        ...(present.signingKeys === undefined ? {} : { signingKeys: present.signingKeys }),
        spentTokens: present.spentTokens,
      },
      token,
      signal,
    );
    keeper.use(await keeper.read(signal), saved ? origin : 'found');
    return saved;
  }
}
