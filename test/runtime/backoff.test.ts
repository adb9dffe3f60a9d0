import { describe, expect, it } from 'vitest';
import { askedWaitMs, backoffMs } from '../../src/runtime/backoff.ts';

const POLICY = { minMs: 1000, maxMs: 60_000 };

describe('the wait before another attempt', () => {
  it('grows to its longest and is never below its shortest', () => {
    const longest = [1, 2, 3, 6, 40].map((attempt) => backoffMs(POLICY, attempt, () => 1));
    expect(longest).toEqual([2000, 4000, 8000, 60_000, 60_000]);
    expect([1, 40].map((attempt) => backoffMs(POLICY, attempt, () => 0))).toEqual([1000, 1000]);
  });

  it('is no shorter than what a server named, nor than without, and spread above what it named', () => {
    const waits = [0, 0.5, 0.99].map((random) => askedWaitMs(5000, 1000, () => random));
    expect(waits).toEqual([5000, 7500, 9950]);
    expect(askedWaitMs(5000, 30_000, () => 0.5)).toBe(30_000);
    expect([undefined, 0].map((asked) => askedWaitMs(asked, 1234, () => 0.5))).toEqual([1234, 1234]);
  });

  it('is spread by a minute at the most', () => {
    expect(askedWaitMs(3_600_000, 1000, () => 0.5)).toBe(3_630_000);
  });
});
