import { describe, expect, it } from 'vitest';
import { CallPatience } from '../../src/operator/call-patience.ts';
import type { AgentTransport } from '../../src/operator/agent-session.ts';
import { ManualClock } from '../support/manual-clock.ts';

const transport = (): AgentTransport => ({
  call: async () => await Promise.resolve({ state: 'ok', status: 204, body: undefined }),
});

function aPatience(): { patience: CallPatience; clock: ManualClock; here: AgentTransport; elsewhere: AgentTransport } {
  const clock = new ManualClock();
  return { patience: new CallPatience({ clock, random: () => 0.5 }), clock, here: transport(), elsewhere: transport() };
}

describe('the patience of a call', () => {
  it('lasts for what the server asked for and half as much again, whatever else is to be said', () => {
    const { patience, clock, here } = aPatience();
    expect(patience.failed(here, 'a', 20_000)).toBe(30_000);
    expect(patience.left(here, 'a')).toBe(30_000);
    expect(patience.left(here, 'b')).toBe(30_000);
    clock.advance(29_999);
    expect(patience.left(here, 'a')).toBe(1);
    clock.advance(1);
    expect(patience.left(here, 'a')).toBe(0);
  });

  it('is over for another server, and begins anew there', () => {
    const { patience, here, elsewhere } = aPatience();
    patience.failed(here, 'a', 20_000);
    expect(patience.left(elsewhere, 'a')).toBe(0);
    expect(patience.failed(elsewhere, 'a', undefined)).toBe(1500);
  });

  it('grows with each failure, is a second at least, and is that second for another subject', () => {
    const { patience, clock, here } = aPatience();
    const waits = [1, 2, 3, 4].map(() => patience.failed(here, 'a', undefined));
    expect(waits).toEqual([1500, 2500, 4500, 8500]);
    expect(patience.left(here, 'b')).toBe(1000);
    clock.advance(1000);
    expect(patience.left(here, 'b')).toBe(0);
  });

  it('ends with an answer', () => {
    const { patience, here } = aPatience();
    patience.failed(here, 'a', undefined);
    patience.failed(here, 'a', undefined);
    patience.answered();
    expect(patience.left(here, 'a')).toBe(0);
    expect(patience.failed(here, 'a', undefined)).toBe(1500);
  });
});
