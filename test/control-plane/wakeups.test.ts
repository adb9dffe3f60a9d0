import { describe, expect, it, vi } from 'vitest';
import { Wakeups } from '../../src/control-plane/wakeups.ts';
import { ManualClock } from '../support/manual-clock.ts';

const NEVER = new AbortController().signal;

describe('Wakeups', () => {
  it('wakes all who wait for the topic, and nobody else', async () => {
    const clock = new ManualClock();
    const wakeups = new Wakeups({ clock });
    const both = Promise.all([wakeups.wait('a', NEVER, 1000), wakeups.wait('a', NEVER, 2000)]);
    const other = wakeups.wait('b', NEVER, 3000);
    wakeups.notify('a');
    expect(await both).toEqual(['notified', 'notified']);
    clock.advance(3000);
    expect(await other).toBe('elapsed');
    expect(clock.sleeping).toBe(0);
  });

  it('loses no notification between the look at the state and the wait', async () => {
    const wakeups = new Wakeups({ clock: new ManualClock() });
    const seen = wakeups.version('a');
    wakeups.notify('a');
    expect(await wakeups.waitFor('a', seen, NEVER, 1000)).toBe('notified');
  });

  it('rejects with the reason of the signal, before and during the wait', async () => {
    const clock = new ManualClock();
    const wakeups = new Wakeups({ clock });
    const reason = new Error('client gone');
    await expect(wakeups.wait('a', AbortSignal.abort(reason), 1000)).rejects.toBe(reason);
    const controller = new AbortController();
    const waiting = wakeups.wait('a', controller.signal, 1000);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(clock.sleeping).toBe(0);
  });

  it('wakes everybody a few at a time when anything may have changed, and misses nobody who was about to wait', async () => {
    const clock = new ManualClock();
    const wakeups = new Wakeups({ clock });
    const seen = wakeups.version('about-to-wait');
    const woken: number[] = [];
    const topics = Array.from({ length: 400 }, (_, n) => `topic-${n}`);
    for (const [n, topic] of topics.entries()) wakeups.watch(topic, () => woken.push(n));
    const all = wakeups.wakeAll(1000, NEVER);
    expect(await wakeups.waitFor('about-to-wait', seen, NEVER, 1000)).toBe('notified');
    expect(woken).toHaveLength(20);
    for (let step = 0; step < 19; step += 1) {
      clock.advance(50);
      await vi.waitFor(() => expect(woken).toHaveLength(40 + step * 20), 30_000);
    }
    await all;
    expect(new Set(woken).size).toBe(400);
  });

  it('forgets old topics rather than grow, and then says look again', async () => {
    const wakeups = new Wakeups({ clock: new ManualClock() });
    wakeups.notify('old');
    const seen = wakeups.version('old');
    const quiet = wakeups.version('quiet');
    for (let n = 0; n < 50_000; n += 1) wakeups.notify(`topic-${n}`);
    wakeups.notify('old');
    expect(await wakeups.waitFor('old', seen, NEVER, 1000)).toBe('notified');
    expect(await wakeups.waitFor('quiet', quiet, NEVER, 1000)).toBe('notified');
  });
});
