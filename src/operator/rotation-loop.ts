import type { Condition } from '../protocol/condition.ts';
import { Reason } from '../resources/reasons.ts';
import { askedWaitMs, backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Wake } from '../runtime/wake.ts';
import { CREDENTIAL_ACCEPTED, type AgentSession } from './agent-session.ts';
import type { CredentialRenewal, RotationOutcome } from './credential-renewal.ts';
import { rotationDue, type RotationTimes } from './rotation-schedule.ts';

export interface RotationLoopDeps {
  readonly session: AgentSession;
  readonly renewal: Pick<CredentialRenewal, 'rotate'>;
  /**
   * Why the credential is to be replaced although its time has not come, as a text that differs for another cause;
   * undefined: it is not.
   */
  readonly cause: (signal: AbortSignal) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onAuthenticated: (condition: Omit<Condition, 'lastTransitionTime'>) => void;
}

const RETRY = { minMs: 2000, maxMs: 900_000 };
/** After a refusal that the same request would meet again. */
const REFUSED_MS = 3_600_000;
/** Between two rotations that went well, whatever the control plane asks for. */
const SPACING_MS = 60_000;
/** The clock is looked at so often: it may be set, and no timer reaches as far as a credential lives. */
const LOOK_MS = 3_600_000;
/** A failing rotation is shown from the third failure on: one that goes well a minute later concerns nobody. */
const FAILURES_SHOWN = 3;

/**
 * Replaces the credential in time, by the earlier of what came with it and what `/config` says, and at once where something
 * else has to be sent or fetched with it: a new public key, a client certificate. While that fails the credential in use
 * goes on being used.
 */
export class RotationLoop {
  readonly #deps: RotationLoopDeps;
  readonly #wake = new Wake();
  #times: RotationTimes = {};
  /** Chosen when the times last changed, and kept, so that looking again does not put it off. */
  #due: number | undefined;
  #notBefore = 0;
  #failures = 0;
  /** The cause that was served last: where serving it did not end it, it waits for the schedule. */
  #served: string | undefined;

  constructor(deps: RotationLoopDeps) {
    this.#deps = deps;
  }

  /** From when on the credential is replaced, as RFC 3339; undefined: nobody said. */
  get rotateAfter(): string | undefined {
    const { rotateAfter, configured } = this.#times;
    if (rotateAfter === undefined || configured === undefined) return rotateAfter ?? configured;
    return Date.parse(configured) < Date.parse(rotateAfter) ? configured : rotateAfter;
  }

  /** Another credential is used from now on. */
  credentialChanged({ rotateAfter, expiresAt }: Pick<RotationTimes, 'rotateAfter' | 'expiresAt'>): void {
    this.#become({ rotateAfter, expiresAt });
    this.#failures = 0;
  }

  /** The control plane says of the credential in use when it is to be replaced. */
  configured(rotateAfter: string | undefined): void {
    if (rotateAfter !== this.#times.configured) this.#become({ ...this.#times, configured: rotateAfter });
  }

  /** There may be another cause. */
  lookAgain(): void {
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#deps.session.opened(signal);
        const wait = await this.#step(signal);
        if (wait === undefined) await this.#wake.wait(signal);
        else if (wait > 0) await this.#wake.waitAtMost(Math.min(wait, LOOK_MS), this.#deps.clock, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#failed((error as Error).message, backoffMs(RETRY, this.#failures + 1, this.#deps.random));
      }
    }
  }

  /** Answers how long nothing will be to do, in milliseconds; undefined: until something changes. */
  async #step(signal: AbortSignal): Promise<number | undefined> {
    const now = this.#deps.clock.now().getTime();
    const wait = this.#notBefore - now;
    if (wait > 0) return wait;
    const cause = await this.#deps.cause(signal);
    if (cause === undefined) this.#served = undefined;
    const isCalledFor = cause !== undefined && cause !== this.#served;
    if (!isCalledFor && (this.#due === undefined || this.#due > now)) {
      return this.#due === undefined ? undefined : this.#due - now;
    }
    this.#take(await this.#deps.renewal.rotate(signal), cause);
    return 0;
  }

  #take(outcome: RotationOutcome, cause: string | undefined): void {
    const { clock, logger, random } = this.#deps;
    switch (outcome.state) {
      case 'rotated':
        this.#failures = 0;
        this.#served = cause;
        this.#notBefore = clock.now().getTime() + SPACING_MS;
        logger.info('the credential was rotated');
        if (outcome.withoutCertificate !== undefined) this.#withoutCertificate(outcome.withoutCertificate);
        return;
      case 'adopted':
        if (this.#failures >= FAILURES_SHOWN) this.#deps.onAuthenticated(CREDENTIAL_ACCEPTED);
        this.#notBefore = clock.now().getTime() + RETRY.minMs;
        return;
      case 'refused':
        // A stopped session is told about elsewhere; once it is open again there is another credential, or a new look.
        if (this.#deps.session.state !== 'open') return;
        this.#failures = Math.max(this.#failures, FAILURES_SHOWN - 1);
        this.#failed(outcome.message, REFUSED_MS * (1 + random() / 5));
        return;
      case 'unavailable':
        this.#failed(
          outcome.message,
          askedWaitMs(outcome.retryAfterMs, backoffMs(RETRY, this.#failures + 1, random), random),
        );
    }
  }

  #failed(message: string, waitMs: number): void {
    this.#failures += 1;
    this.#notBefore = this.#deps.clock.now().getTime() + waitMs;
    this.#deps.logger.warn({ message, waitMs, failures: this.#failures }, 'the credential could not be rotated');
    if (this.#failures < FAILURES_SHOWN) return;
    const end = this.#times.expiresAt === undefined ? '' : ` It ends at ${this.#times.expiresAt}.`;
    this.#deps.onAuthenticated({
      type: 'Authenticated',
      status: 'True',
      reason: Reason.CredentialRotationFailed,
      message: `The credential works and cannot be replaced: ${message}.${end} The operator goes on with it and tries again.`,
    });
  }

  #withoutCertificate(why: string): void {
    this.#deps.onAuthenticated({
      type: 'Authenticated',
      status: 'True',
      reason: Reason.ClientCertificateMissing,
      message: `The control plane accepts the credential; spec.security.mtls is enabled and there is no client certificate to show: ${why}. Have the control plane issue client certificates, or put tls.crt and tls.key into the credential Secret.`,
    });
  }

  #become(times: RotationTimes): void {
    const { clock, random } = this.#deps;
    this.#times = times;
    this.#due = rotationDue(times, clock.now().getTime(), random());
    this.#wake.ring();
  }
}
