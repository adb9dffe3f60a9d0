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
    const shown = (state: Parameters<typeof connectionConditions>[0]): string[] =>
      connectionConditions(state, 'refused').map(({ type, status, reason }) => `${type} ${status} ${reason}`);
    expect(shown('connected')).toEqual([
      'Connected True ControlPlaneReachable',
      'Disconnected False ControlPlaneReachable',
    ]);
    expect(shown('disconnected')).toEqual([
      'Connected False ControlPlaneUnreachable',
      'Disconnected True ControlPlaneUnreachable',
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
