import type { Condition } from '../protocol/condition.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';

/** `Connected=False` after so many failures in a row, or so long without an answer (decisions, "Custom resources"). */
export const FAILURES_UNTIL_DISCONNECTED = 5;
export const SILENCE_UNTIL_DISCONNECTED_MS = 60_000;

export type ContactState = 'connected' | 'reconnecting' | 'disconnected';

export interface ContactDeps {
  readonly clock: Clock;
  /** Called when the state changes, and again on each failure while disconnected if the message differs. */
  readonly onChange: (state: ContactState, message: string) => void;
}

/**
 * Whether the control plane answers:
 *
 *     reconnecting ──answer──► connected ──failure──► reconnecting ──5 in a row, or 60 s──► disconnected
 *                                  ▲                                                            │
 *                                  └──────────────────────────answer────────────────────────────┘
 *
 * Any answer of the control plane counts, a refusal too. It starts as reconnecting: nothing is known yet.
 */
export class Contact {
  readonly #deps: ContactDeps;
  #state: ContactState = 'reconnecting';
  #failures = 0;
  #lastAnswer: Date;
  #answered = false;
  #message = '';

  constructor(deps: ContactDeps) {
    this.#deps = deps;
    this.#lastAnswer = deps.clock.now();
  }

  get state(): ContactState {
    return this.#state;
  }

  /** When the control plane last answered; undefined before the first time. */
  get lastAnswer(): Date | undefined {
    return this.#answered ? this.#lastAnswer : undefined;
  }

  answered(): void {
    this.#failures = 0;
    this.#answered = true;
    this.#lastAnswer = this.#deps.clock.now();
    this.#become('connected', '');
  }

  failed(message: string): void {
    this.#failures += 1;
    const silence = this.#deps.clock.now().getTime() - this.#lastAnswer.getTime();
    const lost = this.#failures >= FAILURES_UNTIL_DISCONNECTED || silence >= SILENCE_UNTIL_DISCONNECTED_MS;
    this.#become(lost ? 'disconnected' : 'reconnecting', message);
  }

  #become(state: ContactState, message: string): void {
    if (state === this.#state && (state !== 'disconnected' || message === this.#message)) return;
    // From disconnected the way leads over an answer only.
    if (this.#state === 'disconnected' && state === 'reconnecting') return;
    this.#state = state;
    this.#message = message;
    this.#deps.onChange(state, message);
  }
}

/**
 * `Connected` and `Disconnected` of the Cluster's status, always each other's opposite; nothing while a connection is only
 * being sought again. Both of them, as the events that count for the audit are the ones that turn True: the loss has one of
 * its own, sent once there is somebody to send it to.
 */
export function connectionConditions(
  state: ContactState,
  message: string,
): readonly Omit<Condition, 'lastTransitionTime'>[] {
  if (state === 'reconnecting') return [];
  const isConnected = state === 'connected';
  const details = isConnected
    ? { reason: Reason.ControlPlaneReachable, message: 'The control plane answers.' }
    : {
        reason: Reason.ControlPlaneUnreachable,
        message: `The control plane does not answer: ${message}. Reconciliation goes on with what is known.`,
      };
  return [
    { type: 'Connected', status: isConnected ? 'True' : 'False', ...details },
    { type: 'Disconnected', status: isConnected ? 'False' : 'True', ...details },
  ];
}
