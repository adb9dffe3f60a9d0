import type { ErrorCode } from '../protocol/app-error.ts';
import type { Condition } from '../protocol/condition.ts';
import { Reason } from '../resources/reasons.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Secret } from '../runtime/secret.ts';
import { untilAborted } from '../runtime/until-aborted.ts';
import type { AgentAnswer } from './agent-answer.ts';
import type { AgentCall, AgentClient, AgentIdentity } from './agent-client.ts';
import type { Contact } from './contact.ts';

/** What became of a credential that was refused with 401. */
export type RefreshOutcome =
  /** The session has another one by now. */
  | { readonly state: 'replaced' }
  | { readonly state: 'refused' }
  /** It is not known yet: whoever could give another one does not answer. */
  | { readonly state: 'unavailable'; readonly message: string; readonly retryAfterMs?: number };

export const CREDENTIAL_ACCEPTED = {
  type: 'Authenticated',
  status: 'True',
  reason: Reason.Registered,
  message: 'The control plane accepts the credential.',
} as const satisfies Omit<Condition, 'lastTransitionTime'>;

/** What calls are made with. */
export type AgentTransport = Pick<AgentClient, 'call'>;

export interface AgentSessionDeps {
  readonly contact: Contact;
  readonly logger: Logger;
  /**
   * Replaces a refused credential, once for all loops that met the refusal. Rejects only when the operator stops.
   *
   * @param onlySecret look whether the Secret holds another one, and ask the control plane for none
   */
  readonly refresh: (refused: AgentIdentity, onlySecret: boolean) => Promise<RefreshOutcome>;
  /** Sees each answer to a call. */
  readonly onAnswer?: (call: AgentCall, answer: AgentAnswer) => void;
  /** `Authenticated` as it is now; called at every change. */
  readonly onAuthenticated: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
}

/**
 * Whether the operator may speak to the control plane:
 *
 *     unregistered ──use()──► open ──401 that no refresh mends, or 403──► stopped
 *                              ▲                                            │
 *                              └── use() with another credential, or an answer to a probe ──┘
 *
 * A stopped session sends nothing but probes (decisions: `/config` alone, every 15 minutes).
 */
export class AgentSession {
  readonly #deps: AgentSessionDeps;
  #client: AgentTransport | undefined;
  #identity: AgentIdentity | undefined;
  #state: 'unregistered' | 'open' | 'stopped' = 'unregistered';
  #opened = Promise.withResolvers<void>();
  /** How often it was stopped: what was sent before a stop says nothing about it. */
  #stops = 0;
  readonly #stopListeners: (() => void)[] = [];

  constructor(deps: AgentSessionDeps) {
    this.#deps = deps;
  }

  get state(): 'unregistered' | 'open' | 'stopped' {
    return this.#state;
  }

  get clusterId(): string | undefined {
    return this.#identity?.clusterId;
  }

  /** Calls at each stop. */
  onStopped(listener: () => void): void {
    this.#stopListeners.push(listener);
  }

  /** Whether this very client and credential are in use, or were refused. */
  uses(client: AgentTransport, identity: AgentIdentity): boolean {
    return (
      this.#client === client &&
      this.#identity?.token.expose() === identity.token.expose() &&
      this.#identity.clusterId === identity.clusterId
    );
  }

  use(client: AgentTransport, identity: AgentIdentity): void {
    this.#client = client;
    this.#identity = identity;
    this.#open();
  }

  /** Whether this credential is the one in use. */
  isToken(token: Secret): boolean {
    return this.#identity?.token.expose() === token.expose();
  }

  /** Resolves when the session is open. Rejects with the signal's reason. */
  async opened(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.#state !== 'open') await untilAborted(this.#opened.promise, signal);
  }

  /** Waits until the session is open, then calls. A refusal of the credential stops the session and is also returned. */
  async call(call: AgentCall, signal: AbortSignal): Promise<AgentAnswer> {
    await this.opened(signal);
    return this.probe(call, signal);
  }

  /** Calls although the session is stopped; an answer that is no refusal opens it again. */
  async probe(call: AgentCall, signal: AbortSignal): Promise<AgentAnswer> {
    const sentWith = this.#identity;
    const first = await this.#send(call, signal);
    if (!refusesCredential(first) || sentWith === undefined) return first;
    // A signature that does not verify is no fault of the credential it was made with: another would fare no better.
    const onlySecret = this.#state === 'stopped' || first.code === 'invalid_signature';
    const refreshed = await untilAborted(this.#deps.refresh(sentWith, onlySecret), signal);
    switch (refreshed.state) {
      case 'unavailable':
        return { ...refreshed, cut: false, answered: true };
      case 'refused':
        this.#stop(first, sentWith);
        return first;
      case 'replaced': {
        const resentWith = this.#identity;
        const second = await this.#send(call, signal);
        if (refusesCredential(second)) this.#stop(second, resentWith);
        return second;
      }
    }
  }

  /** The control plane refused this operator by way of a call that was made past the session. */
  stop(answer: Extract<AgentAnswer, { readonly state: 'refused' }>): void {
    this.#stop(answer, this.#identity);
  }

  async #send(call: AgentCall, signal: AbortSignal): Promise<AgentAnswer> {
    if (this.#client === undefined) throw new Error('the session has no credential yet');
    const sentWith = this.#identity;
    const stops = this.#stops;
    const answer = withClockSkew(await this.#client.call(call, sentWith, signal));
    this.#deps.onAnswer?.(call, answer);
    if (answer.state === 'unavailable' && !answer.answered) {
      // How a held request may end is the business of whoever holds it.
      if (call.holdSeconds === undefined) this.#deps.contact.failed(answer.message);
      return answer;
    }
    const isForbidden = answer.state === 'refused' && answer.status === 403;
    if (!isForbidden && !refusesCredential(answer) && stops === this.#stops) this.#open();
    this.#deps.contact.answered();
    if (isForbidden) this.#stop(answer, sentWith);
    return answer;
  }

  #open(): void {
    if (this.#state === 'open') return;
    this.#state = 'open';
    this.#opened.resolve();
    this.#deps.onAuthenticated(CREDENTIAL_ACCEPTED);
  }

  #stop(answer: Extract<AgentAnswer, { readonly state: 'refused' }>, refused: AgentIdentity | undefined): void {
    // Another loop has put another credential in its place meanwhile.
    if (this.#identity !== refused) return;
    if (this.#state !== 'stopped') {
      this.#state = 'stopped';
      this.#stops += 1;
      this.#opened = Promise.withResolvers<void>();
      this.#deps.logger.warn({ code: answer.code, message: answer.message }, 'the control plane refuses this operator');
      for (const listener of this.#stopListeners) listener();
    }
    this.#deps.onAuthenticated({ type: 'Authenticated', status: 'False', ...explain(answer) });
  }
}

/** 401, but for a clock that is off: no other credential would help there. */
function refusesCredential(
  answer: AgentAnswer,
): answer is Extract<AgentAnswer, { readonly state: 'refused' }> & { readonly status: 401 } {
  return answer.state === 'refused' && answer.status === 401;
}

function withClockSkew(answer: AgentAnswer): AgentAnswer {
  if (answer.state !== 'refused' || answer.code !== 'clock_skew') return answer;
  const serverTime =
    typeof answer.body['serverTime'] === 'string' ? `; the server's time is ${answer.body['serverTime']}` : '';
  return {
    state: 'unavailable',
    cut: false,
    answered: false,
    message: `this node's clock is off: ${answer.message}${serverTime}. Set the clock.`,
  };
}

const FRESH_TOKEN =
  'Issue a fresh registration token (servicectl clusters registration-token <cluster>) and give it to this operator: service-operator register --token-file=<file>, or spec.registration.token.';
const RESUME = 'The operator goes on reconciling what it has, and asks again every 15 minutes.';

/** What is to be done about a refusal. */
const REFUSALS: Partial<Record<ErrorCode, { readonly reason: Reason; readonly remedy: string }>> = {
  expired_token: {
    reason: Reason.CredentialExpired,
    remedy: FRESH_TOKEN,
  },
  cluster_disabled: { reason: Reason.ClusterDisabled, remedy: 'Have an admin enable the cluster.' },
  invalid_signature: {
    reason: Reason.CredentialRefused,
    remedy: 'Something between the two changes the path or the body of requests; look at the proxies on the way.',
  },
  cluster_mismatch: {
    reason: Reason.ClusterUidMismatch,
    remedy: `The token must be one of this cluster's record. ${FRESH_TOKEN}`,
  },
};

function explain(answer: Extract<AgentAnswer, { readonly state: 'refused' }>): {
  readonly reason: Reason;
  readonly message: string;
} {
  const { reason, remedy } = REFUSALS[answer.code] ?? {
    reason: Reason.CredentialRefused,
    remedy: FRESH_TOKEN,
  };
  return {
    reason,
    message: `The control plane refuses this operator (${answer.code}): ${answer.message}. ${remedy} ${RESUME}`,
  };
}
