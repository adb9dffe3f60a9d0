import type { ErrorCode } from '../protocol/app-error.ts';
import type { Condition } from '../protocol/condition.ts';
import { Reason } from '../resources/reasons.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AgentAnswer } from './agent-answer.ts';
import type { AgentCall, AgentClient, AgentIdentity } from './agent-client.ts';
import type { Contact } from './contact.ts';

export interface AgentSessionDeps {
  readonly contact: Contact;
  readonly logger: Logger;
  /** Reads the credential Secret again; undefined when there is no credential in it. */
  readonly reread: (signal: AbortSignal) => Promise<AgentIdentity | undefined>;
  /** `Authenticated` as it is now; called at every change. */
  readonly onAuthenticated: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
}

/**
 * Whether the operator may speak to the control plane:
 *
 *     unregistered ──use()──► open ──401 again after a refresh, or 403──► stopped
 *                              ▲                                            │
 *                              └── use() with another credential, or an answer to a probe ──┘
 *
 * A stopped session sends nothing but probes (decisions: `/config` alone, every 15 minutes).
 */
export class AgentSession {
  readonly #deps: AgentSessionDeps;
  #client: AgentClient | undefined;
  #identity: AgentIdentity | undefined;
  #state: 'unregistered' | 'open' | 'stopped' = 'unregistered';
  #opened = Promise.withResolvers<void>();
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
  uses(client: AgentClient, identity: AgentIdentity): boolean {
    return (
      this.#client === client &&
      this.#identity?.token.expose() === identity.token.expose() &&
      this.#identity.clusterId === identity.clusterId
    );
  }

  use(client: AgentClient, identity: AgentIdentity): void {
    this.#client = client;
    this.#identity = identity;
    this.#open();
  }

  /** Resolves when the session is open. Rejects with the signal's reason. */
  async opened(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason as Error);
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (this.#state !== 'open') await Promise.race([this.#opened.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Waits until the session is open, then calls. A refusal of the credential stops the session and is also returned. */
  async call(call: AgentCall, signal: AbortSignal): Promise<AgentAnswer> {
    await this.opened(signal);
    return this.probe(call, signal);
  }

  /** Calls although the session is stopped; an answer that is no refusal opens it again. */
  async probe(call: AgentCall, signal: AbortSignal): Promise<AgentAnswer> {
    const first = await this.#send(call, signal);
    if (!refusesCredential(first)) return first;
    const before = this.#identity;
    const again = await this.#deps.reread(signal);
    if (again !== undefined && before !== undefined && again.token.expose() !== before.token.expose()) {
      this.#deps.logger.info('the credential Secret has changed, trying with what it holds now');
      this.#identity = again;
      const second = await this.#send(call, signal);
      if (!refusesCredential(second)) return second;
      this.#stop(second);
      return second;
    }
    this.#stop(first);
    return first;
  }

  async #send(call: AgentCall, signal: AbortSignal): Promise<AgentAnswer> {
    if (this.#client === undefined) throw new Error('the session has no credential yet');
    const answer = withClockSkew(await this.#client.call(call, this.#identity, signal));
    if (answer.state === 'unavailable' && !answer.answered) {
      // How a held request may end is the business of whoever holds it.
      if (call.holdSeconds === undefined) this.#deps.contact.failed(answer.message);
      return answer;
    }
    this.#deps.contact.answered();
    if (answer.state === 'refused' && answer.status === 403) this.#stop(answer);
    else if (!refusesCredential(answer)) this.#open();
    return answer;
  }

  #open(): void {
    if (this.#state === 'open') return;
    this.#state = 'open';
    this.#opened.resolve();
    this.#deps.onAuthenticated({
      type: 'Authenticated',
      status: 'True',
      reason: Reason.Registered,
      message: 'The control plane accepts the credential.',
    });
  }

  #stop(answer: AgentAnswer): void {
    if (answer.state !== 'refused') return;
    if (this.#state !== 'stopped') {
      this.#state = 'stopped';
      this.#opened = Promise.withResolvers<void>();
      this.#deps.logger.warn({ code: answer.code, message: answer.message }, 'the control plane refuses this operator');
      for (const listener of this.#stopListeners) listener();
    }
    this.#deps.onAuthenticated({ type: 'Authenticated', status: 'False', ...explain(answer) });
  }
}

/** 401, but for a clock that is off: no other credential would help there. */
function refusesCredential(answer: AgentAnswer): boolean {
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

const RESUME = 'The operator goes on reconciling what it has, and asks again every 15 minutes.';

/** What is to be done about a refusal. */
const REFUSALS: Partial<Record<ErrorCode, { readonly reason: Reason; readonly remedy: string }>> = {
  expired_token: {
    reason: Reason.CredentialExpired,
    remedy: 'Set a fresh registration token as spec.registration.token.',
  },
  cluster_disabled: { reason: Reason.ClusterDisabled, remedy: 'Have an admin enable the cluster.' },
  cluster_mismatch: {
    reason: Reason.ClusterUidMismatch,
    remedy: "Set a fresh registration token of this cluster's record as spec.registration.token.",
  },
};

function explain(answer: Extract<AgentAnswer, { readonly state: 'refused' }>): {
  readonly reason: Reason;
  readonly message: string;
} {
  const { reason, remedy } = REFUSALS[answer.code] ?? {
    reason: Reason.CredentialRefused,
    remedy: 'Set a fresh registration token as spec.registration.token.',
  };
  return {
    reason,
    message: `The control plane refuses this operator (${answer.code}): ${answer.message}. ${remedy} ${RESUME}`,
  };
}
