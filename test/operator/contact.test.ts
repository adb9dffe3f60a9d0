import { describe, expect, it } from 'vitest';
import { connectionConditions, Contact } from '../../src/operator/contact.ts';
import { ManualClock } from '../support/manual-clock.ts';

function aContact(): { contact: Contact; clock: ManualClock; story: string[] } {
  const clock = new ManualClock();
  const story: string[] = [];
  const contact = new Contact({ clock, onChange: (state, message) => void story.push(`${state}: ${message}`) });
  return { contact, clock, story };
}

describe('contact with the control plane', () => {
  it('is lost after five failures in a row, and found with the next answer', () => {
    const { contact, story } = aContact();
    contact.answered();
    for (let failure = 1; failure <= 6; failure += 1) contact.failed('refused');
    contact.answered();
    expect(story).toEqual(['connected: ', 'reconnecting: refused', 'disconnected: refused', 'connected: ']);
  });

  it('is lost after a minute without an answer, however few failures there were', () => {
    const { contact, clock, story } = aContact();
    contact.answered();
    clock.advance(59_999);
    contact.failed('timeout');
    clock.advance(1);
    contact.failed('timeout');
    expect(story).toEqual(['connected: ', 'reconnecting: timeout', 'disconnected: timeout']);
  });

  it('does not flap on single failures', () => {
    const { contact, story } = aContact();
    contact.answered();
    for (let round = 1; round <= 10; round += 1) {
      contact.failed('hiccup');
      contact.answered();
    }
    expect(story.filter((line) => line.startsWith('disconnected'))).toEqual([]);
  });

  it('is two conditions, each the opposite of the other, and neither while it is only sought again', () => {
    const shown = (state: Parameters<typeof connectionConditions>[0], isAsked = true): string[] =>
      connectionConditions(state, 'refused', isAsked).map(({ type, status, reason }) => `${type} ${status} ${reason}`);
    expect(shown('connected')).toEqual([
      'Connected True ControlPlaneReachable',
      'Disconnected False ControlPlaneReachable',
    ]);
    expect(shown('disconnected')).toEqual([
      'Connected False ControlPlaneUnreachable',
      'Disconnected True ControlPlaneUnreachable',
    ]);
    expect(shown('disconnected', false)).toEqual([
      'Connected False ControlPlaneNotAsked',
      'Disconnected True ControlPlaneNotAsked',
    ]);
    expect(shown('reconnecting')).toEqual([]);
  });

  it('tells when it was last there', () => {
    const { contact, clock } = aContact();
    expect(contact.lastAnswer).toBeUndefined();
    contact.answered();
    clock.advance(5000);
    contact.failed('away');
    expect(contact.lastAnswer?.toISOString()).toBe('2026-03-01T10:00:00.000Z');
  });
});

/** A contact whose silence is watched. */
class Watched implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly story: string[] = [];
  unasked: string | undefined;
  readonly contact = new Contact({
    clock: this.clock,
    onChange: (state, message, isAsked) => void this.story.push(`${state}${isAsked ? '' : ' (not asked)'}: ${message}`),
    unasked: () => this.unasked,
  });
  readonly #stop = new AbortController();
  readonly #ended = this.contact.run(this.#stop.signal);

  async pass(ms: number): Promise<void> {
    await expect.poll(() => this.clock.sleeping, { interval: 1 }).toBeGreaterThan(0);
    this.clock.advance(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

describe('silence', () => {
  it('is noticed although no call is made that could fail', async () => {
    await using watched = new Watched();
    watched.contact.answered();
    await watched.pass(64_999);
    expect(watched.story).toEqual(['connected: ']);
    await watched.pass(1);
    await expect
      .poll(() => watched.story)
      .toEqual([
        'connected: ',
        'disconnected: nothing came for 60 s; its last answer came at 2026-03-01T10:00:00.000Z',
      ]);
    watched.contact.failed('refused');
    expect(watched.story).toHaveLength(2);
    watched.contact.answered();
    await watched.pass(65_000);
    await expect.poll(() => watched.story.length).toBe(4);
  });

  it('is none between polls that are held for 50 s, nor between heartbeats a minute apart', async () => {
    await using watched = new Watched();
    for (const ms of [50_250, 55_300, 50_250, 61_200, 61_200]) {
      watched.contact.answered();
      await watched.pass(ms);
    }
    watched.contact.answered();
    expect(watched.story).toEqual(['connected: ']);
  });

  it('is told truly of an operator that stopped, and not ended by a probe in a quarter of an hour', async () => {
    await using watched = new Watched();
    watched.contact.answered();
    watched.unasked = 'it refused this operator';
    await watched.pass(65_000);
    const lost = 'disconnected (not asked): it refused this operator; its last answer came at 2026-03-01T10:00:00.000Z';
    await expect.poll(() => watched.story).toEqual(['connected: ', lost]);
    watched.clock.advance(900_000);
    watched.contact.answered();
    expect(watched.story).toEqual(['connected: ', lost]);
    expect(watched.contact.lastAnswer?.toISOString()).toBe('2026-03-01T10:16:05.000Z');
    watched.unasked = undefined;
    watched.contact.answered();
    expect(watched.story).toEqual(['connected: ', lost, 'connected: ']);
  });

  it('is noticed of a control plane that never answered', async () => {
    await using watched = new Watched();
    watched.unasked = 'this operator is not registered';
    await watched.pass(65_000);
    await expect.poll(() => watched.story).toEqual(['disconnected (not asked): this operator is not registered']);
  });
});

describe('how long a request may be held', () => {
  it('is as wished in contact, and not at all without, so that an answer shows at once', () => {
    const { contact } = aContact();
    expect(contact.holdSeconds(50, false)).toBe(0);
    contact.answered();
    expect(contact.holdSeconds(50, false)).toBe(50);
    contact.failed('away');
    expect(contact.holdSeconds(50, false)).toBe(0);
  });

  it('is no longer than silence may last after one that was cut', () => {
    const { contact, clock } = aContact();
    contact.answered();
    clock.advance(20_000);
    expect(contact.holdSeconds(16, true)).toBe(16);
    clock.advance(25_000);
    expect(contact.holdSeconds(36, true)).toBe(10);
    clock.advance(9_000);
    expect(contact.holdSeconds(36, true)).toBe(0);
  });

  it('begins anew with another control plane', () => {
    const { contact, story } = aContact();
    contact.answered();
    for (let failure = 1; failure <= 4; failure += 1) contact.failed('refused');
    contact.moved();
    expect([contact.state, contact.lastAnswer, contact.moves]).toEqual(['reconnecting', undefined, 1]);
    contact.failed('refused');
    expect(story.at(-1)).toBe('reconnecting: refused');
    contact.answered();
    expect(contact.state).toBe('connected');
  });
});
