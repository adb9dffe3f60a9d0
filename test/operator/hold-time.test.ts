import { describe, expect, it } from 'vitest';
import { HoldTime } from '../../src/operator/hold-time.ts';

describe('for how long a request is held', () => {
  it('is less after a cut, and grows again only after ten calm answers', () => {
    const hold = new HoldTime(50, () => 0);
    hold.cut(20_000);
    const asked = Array.from({ length: 12 }, () => {
      const seconds = hold.next();
      hold.emptied(seconds * 1000, seconds);
      return seconds;
    });
    expect(asked).toEqual([...Array.from({ length: 10 }, () => 16), 17, 18]);
  });

  it('is what it was where nobody is there after the cut: that was no limit of a proxy', () => {
    const hold = new HoldTime(50, () => 0);
    hold.cut(8000);
    expect(hold.next()).toBe(6);
    hold.failed();
    expect(hold.next()).toBe(30);
    // A later failure takes nothing back that an answer has confirmed.
    hold.cut(8000);
    hold.emptied(6000, 6);
    hold.failed();
    expect(hold.next()).toBe(6);
  });

  it('is a random part, once, after what interrupts a whole fleet, to which each comes back at a time of its own', () => {
    const hold = new HoldTime(50, () => 0.5);
    expect(hold.cut(30_000)).toBe(2500);
    expect(hold.next()).toBe(14);
    expect(hold.emptied(14_000, 14)).toBe(125);
    expect(hold.next()).toBe(24);
  });

  it('is not waited after, again and again, where a server holds less than it is asked', () => {
    const hold = new HoldTime(50, () => 0.5);
    const pauses = Array.from({ length: 4 }, () => hold.emptied(10_000, hold.next()));
    expect(pauses).toEqual([2500, 125, 125, 125]);
  });
});
