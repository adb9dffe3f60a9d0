import { describe, expect, it } from 'vitest';
import type { AgentSession } from '../../src/operator/agent-session.ts';
import type { RotationOutcome } from '../../src/operator/credential-renewal.ts';
import { RotationLoop } from '../../src/operator/rotation-loop.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ManualClock } from '../support/manual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FAR = '2026-03-08T10:00:00.000Z';
const END = '2026-03-31T10:00:00.000Z';

/** A running loop that is answered what the test says; time passes when the test says so. */
class LoopRun implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly conditions: string[] = [];
  /** What the next tries come to; then all of them go well. */
  readonly outcomes: RotationOutcome[] = [];
  tries = 0;
  cause: string | undefined;
  readonly loop: RotationLoop;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor() {
    const session = { state: 'open', opened: async () => undefined } as unknown as AgentSession;
    this.loop = new RotationLoop({
      session,
      renewal: {
        rotate: async () => {
          this.tries += 1;
          const outcome = this.outcomes.shift() ?? { state: 'rotated' };
          if (outcome.state === 'rotated') this.loop.credentialChanged({ rotateAfter: FAR, expiresAt: END });
          return outcome;
        },
      },
      cause: async () => this.cause,
      clock: this.clock,
      random: () => 0,
      logger: createLogger('test', 'silent'),
      onAuthenticated: ({ status, reason }) => void this.conditions.push(`${status} ${reason}`),
    });
    this.loop.credentialChanged({ rotateAfter: FAR, expiresAt: END });
    this.#ended = this.loop.run(this.#stop.signal);
  }

  /** Lets the loop come to its next wait. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
  }

  /** Moves time in steps that no timer is longer than. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= HOUR) {
      this.clock.advance(Math.min(left, HOUR));
      await this.settle();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

describe('the rotation loop', () => {
  it('rotates when the time has come, not before, and then by the new time', async () => {
    await using run = new LoopRun();
    await run.settle();
    await run.pass(7 * 24 * HOUR - 1);
    expect(run.tries).toBe(0);
    await run.pass(1);
    expect(run.tries).toBe(1);
  });

  it('follows what the control plane says by now, and forgets it with the credential that it was said of', async () => {
    await using run = new LoopRun();
    run.loop.configured('2026-03-01T11:00:00.000Z');
    expect(run.loop.rotateAfter).toBe('2026-03-01T11:00:00.000Z');
    await run.settle();
    await run.pass(HOUR);
    expect({ tries: run.tries, next: run.loop.rotateAfter }).toEqual({ tries: 1, next: FAR });
  });

  it('backs off at failures, heeds what it is told to wait, and shows the third one', async () => {
    await using run = new LoopRun();
    const away = { state: 'unavailable', message: 'answered 503' } as const;
    run.outcomes.push(away, { ...away, retryAfterMs: 40_000 }, away, away);
    run.loop.configured('2026-03-01T10:00:00.000Z');
    await run.settle();
    expect(run.tries).toBe(1);
    await run.pass(1999);
    expect(run.tries).toBe(1);
    await run.pass(1);
    expect(run.tries).toBe(2);
    await run.pass(39_999);
    expect({ tries: run.tries, conditions: run.conditions }).toEqual({ tries: 2, conditions: [] });
    await run.pass(1);
    expect({ tries: run.tries, conditions: run.conditions }).toEqual({
      tries: 3,
      conditions: ['True CredentialRotationFailed'],
    });
  });

  it('asks again after an hour where it was refused for good', async () => {
    await using run = new LoopRun();
    run.outcomes.push({ state: 'refused', status: 400, message: 'constraint_violated: no' });
    run.loop.configured('2026-03-01T10:00:00.000Z');
    await run.settle();
    expect({ tries: run.tries, conditions: run.conditions }).toEqual({
      tries: 1,
      conditions: ['True CredentialRotationFailed'],
    });
    await run.pass(HOUR - 1);
    expect(run.tries).toBe(1);
    await run.pass(1);
    expect(run.tries).toBe(2);
  });

  it('does not wait for the time where there is a cause, once for each, and no faster than once a minute', async () => {
    await using run = new LoopRun();
    await run.settle();
    run.cause = 'key a';
    run.loop.lookAgain();
    await run.settle();
    expect(run.tries).toBe(1);
    run.cause = 'key b';
    run.loop.lookAgain();
    await run.settle();
    await run.pass(MINUTE - 1);
    expect(run.tries).toBe(1);
    await run.pass(1);
    expect(run.tries).toBe(2);
    // It did not end by being served: nothing more is tried for it before the time comes.
    await run.pass(24 * HOUR);
    expect(run.tries).toBe(2);
    run.cause = undefined;
    await run.pass(HOUR);
    run.cause = 'key b';
    run.loop.lookAgain();
    await run.settle();
    expect(run.tries).toBe(3);
  });

  it('says that there is no certificate to show, and goes on', async () => {
    await using run = new LoopRun();
    run.outcomes.push({ state: 'rotated', withoutCertificate: 'the control plane gave no client certificate' });
    run.cause = 'certificate';
    run.loop.lookAgain();
    await run.settle();
    expect(run.conditions).toEqual(['True ClientCertificateMissing']);
  });
});
