import type { Condition } from '../protocol/condition.ts';
import { Reason } from '../resources/reasons.ts';
import type { Clock } from '../runtime/clock.ts';
import { Wake } from '../runtime/wake.ts';

/** `Connected=False` after so many failures in a row, or so long without an answer (decisions, "Custom resources"). */
export const FAILURES_UNTIL_DISCONNECTED = 5;
export const SILENCE_UNTIL_DISCONNECTED_MS = 60_000;

/**
 * What is asked right at that limit, such as the heartbeat of each minute, may be answered yet. A call that fails by then
 * is not waited for.
 */
const ANSWER_UNDER_WAY_MS = 5000;
const SHORTEST_HOLD_SECONDS = 2;

export type ContactState = 'connected' | 'reconnecting' | 'disconnected';

export interface ContactDeps {
  readonly clock: Clock;
  /**
   * Called when the state changes, and again on each failure while disconnected if the message differs.
   *
   * @param isAsked false: there is no contact because nothing is asked of the control plane
   */
  readonly onChange: (state: ContactState, message: string, isAsked: boolean) => void;
  /** Why the control plane is not asked for anything now, but for a probe at times; undefined (default): it is. */
  readonly unasked?: () => string | undefined;
}

/**
 * Whether the control plane answers:
 *
 *     reconnecting ──answer──► connected ──failure──► reconnecting ──5 in a row, or 60 s──► disconnected
 *                                  ▲  └───────────────silence of 60 s, nothing failing──────────┤
 *                                  └──────────────────────────answer────────────────────────────┘
 *
 * Any answer of the control plane counts, a refusal too; but the answer to a probe, four in an hour, makes no contact of
 * none. It starts as reconnecting: nothing is known yet.
 */
export class Contact {
  readonly #deps: ContactDeps;
  readonly #wake = new Wake();
  #state: ContactState = 'reconnecting';
  #failures = 0;
  #lastAnswer: Date;
  #answered = false;
  #message = '';
  #isAsked = true;
  /** Silence was told, and not a failure. */
  #isSilent = false;
  #lastFailure = '';
  #moves = 0;

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

  /** How often another control plane was asked from then on. */
  get moves(): number {
    return this.#moves;
  }

  /**
   * For how long a request may be held, in seconds: not at all where there is no contact, so that it shows at once when it is
   * back; after one that was cut, which is no answer, no longer than silence may last.
   */
  holdSeconds(wished: number, wasCut: boolean): number {
    if (this.#state !== 'connected') return 0;
    if (!wasCut) return wished;
    const silence = this.#deps.clock.now().getTime() - this.#lastAnswer.getTime();
    const left = Math.floor((SILENCE_UNTIL_DISCONNECTED_MS - ANSWER_UNDER_WAY_MS - silence) / 1000);
    return left < SHORTEST_HOLD_SECONDS ? 0 : Math.min(wished, left);
  }

  answered(): void {
    this.#failures = 0;
    this.#answered = true;
    this.#lastAnswer = this.#deps.clock.now();
    if (this.#state === 'disconnected' && !this.#isAsked && this.#deps.unasked?.() !== undefined) return;
    this.#become('connected', '');
  }

  failed(message: string): void {
    this.#failures += 1;
    this.#lastFailure = message;
    // Each change of the message is an event, and this one says no less.
    if (this.#state === 'disconnected' && this.#isSilent) return;
    const silence = this.#deps.clock.now().getTime() - this.#lastAnswer.getTime();
    const lost = this.#failures >= FAILURES_UNTIL_DISCONNECTED || silence >= SILENCE_UNTIL_DISCONNECTED_MS;
    this.#become(lost ? 'disconnected' : 'reconnecting', message);
  }

  /** Another control plane is asked from now on: what is known is of the one before. */
  moved(): void {
    this.#moves += 1;
    this.#failures = 0;
    this.#lastAnswer = this.#deps.clock.now();
    this.#answered = false;
    if (this.#state === 'connected') this.#become('reconnecting', '');
  }

  /** Notices silence until aborted, where no call is made that could fail, too. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    try {
      for (;;) {
        if (this.#state === 'disconnected') await this.#wake.wait(signal);
        const since = this.#lastAnswer.getTime();
        const left = since + SILENCE_UNTIL_DISCONNECTED_MS + ANSWER_UNDER_WAY_MS - clock.now().getTime();
        if (left > 0) await clock.sleep(left, signal);
        else this.#silent();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #silent(): void {
    const unasked = this.#deps.unasked?.();
    if (unasked === undefined && this.#failures > 0) {
      this.#become('disconnected', this.#lastFailure);
      return;
    }
    const why = unasked ?? `nothing came for ${SILENCE_UNTIL_DISCONNECTED_MS / 1000} s`;
    const last = this.#answered ? `; its last answer came at ${this.#lastAnswer.toISOString()}` : '';
    this.#become('disconnected', `${why}${last}`, unasked === undefined);
    this.#isSilent = unasked === undefined;
  }

  #become(state: ContactState, message: string, isAsked = true): void {
    if (state === this.#state && (state !== 'disconnected' || message === this.#message)) return;
    // From disconnected the way leads over an answer only.
    if (this.#state === 'disconnected' && state === 'reconnecting') return;
    this.#state = state;
    this.#message = message;
    this.#isAsked = isAsked;
    this.#isSilent = false;
    this.#wake.ring();
    this.#deps.onChange(state, message, isAsked);
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
  isAsked: boolean,
): readonly Omit<Condition, 'lastTransitionTime'>[] {
  if (state === 'reconnecting') return [];
  const isConnected = state === 'connected';
  const lost = isAsked
    ? { reason: Reason.ControlPlaneUnreachable, what: 'does not answer' }
    : { reason: Reason.ControlPlaneNotAsked, what: 'is not asked' };
  const details = isConnected
    ? { reason: Reason.ControlPlaneReachable, message: 'The control plane answers.' }
    : {
        reason: lost.reason,
        message: `The control plane ${lost.what}: ${message}. Reconciliation goes on with what is known.`,
      };
  return [
    { type: 'Connected', status: isConnected ? 'True' : 'False', ...details },
    { type: 'Disconnected', status: isConnected ? 'False' : 'True', ...details },
  ];
}
