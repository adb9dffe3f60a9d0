import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { mintAgentCredential } from '../../src/control-plane/agent-credential.ts';
import { DEFAULT_INTERVALS } from '../../src/protocol/agent-config.ts';
import { ManualClock } from '../support/manual-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The same numbers in every run: bytes of SHA-256 over a counter. */
class Seeded {
  #count = 0;

  readonly bytes = (n: number): Uint8Array =>
    createHash('sha256')
      .update(`seed ${(this.#count += 1)}`)
      .digest()
      .subarray(0, n);

  readonly random = (): number => Buffer.from(this.bytes(6)).readUIntBE(0, 6) / 2 ** 48;
}

function rotationsOf(count: number, rotateSeconds: number): { issued: number; due: number; ends: number }[] {
  const clock = new ManualClock();
  const seeded = new Seeded();
  const intervals = JSON.stringify({ ...DEFAULT_INTERVALS, rotate_seconds: rotateSeconds });
  return Array.from({ length: count }, () => {
    clock.advance(HOUR_MS / count);
    const deps = { randomBytes: seeded.bytes, random: seeded.random };
    const use = { origin: 'registration', replaces: null } as const;
    const { row } = mintAgentCredential(deps, { id: 'c-1', intervals }, clock.now(), use);
    return { issued: Date.parse(row.issued_at), due: Date.parse(row.rotate_after), ends: Date.parse(row.expires_at) };
  });
}

/** The most that come due within any hour. */
function busiestHour(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  let first = 0;
  return Math.max(
    ...sorted.map((time, last) => {
      while (time - (sorted[first] ?? 0) >= HOUR_MS) first += 1;
      return last - first + 1;
    }),
  );
}

describe('credentials of a fleet', () => {
  it('A9: thousands that were issued in one hour do not rotate in one: it takes two days, at most 1 in 36 in any hour', () => {
    const rotations = rotationsOf(5000, DEFAULT_INTERVALS.rotate_seconds);
    const due = rotations.map((one) => one.due);
    expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(50 * HOUR_MS);
    expect(busiestHour(due)).toBeLessThan(5000 / 36);
    for (const one of rotations) {
      expect(one.due - one.issued).toBeGreaterThanOrEqual(7 * DAY_MS * 0.7);
      expect(one.due - one.issued).toBeLessThanOrEqual(7 * DAY_MS);
    }
  });

  it('rotate well before they end, whatever interval was set', () => {
    for (const { issued, due, ends } of rotationsOf(500, 90 * 86_400)) {
      expect([ends - issued, due - issued <= 24 * DAY_MS]).toEqual([30 * DAY_MS, true]);
    }
  });
});
