import { describe, expect, it } from 'vitest';
import { silenceLimitMs } from '../../src/control-plane/contact-watch.ts';
import { DEFAULT_INTERVALS } from '../../src/protocol/agent-config.ts';
import { Herd, type Held, type Outage } from './herd.ts';

const CLUSTERS = { jobs: 2000, config: 1000 };
/** Of the requests in any one second, against those of a mean one. */
const PEAK = 3;

/** How many of these times, in milliseconds, lie in each second. */
function bySecond(times: readonly number[], seconds: number): readonly number[] {
  const counts = Array.from({ length: seconds }, () => 0);
  for (const at of times) counts[Math.floor(at / 1000)] = (counts[Math.floor(at / 1000)] ?? 0) + 1;
  return counts;
}

const mean = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0) / counts.length;

const OUTAGES: readonly (Outage & { readonly loop: Held })[] = [
  { loop: 'jobs', seconds: 5, held: 'cut', meanwhile: 'nobody' },
  { loop: 'jobs', seconds: 60, held: 'cut', meanwhile: 'nobody' },
  { loop: 'jobs', seconds: 600, held: 'cut', meanwhile: 'nobody' },
  { loop: 'jobs', seconds: 5, held: 'answered', meanwhile: 'nobody' },
  { loop: 'jobs', seconds: 10, held: 'cut', meanwhile: 'unavailable' },
  { loop: 'jobs', seconds: 60, held: 'answered', meanwhile: 'unavailable' },
  { loop: 'config', seconds: 5, held: 'cut', meanwhile: 'nobody' },
  { loop: 'config', seconds: 60, held: 'answered', meanwhile: 'unavailable' },
];

describe('A9: thousands of pollers over a restart of the control plane', () => {
  it.each(OUTAGES)(
    'come back spread after $seconds s ($loop held: $held, then $meanwhile), and stay so; none counts as disconnected',
    { timeout: 120_000 },
    async (outage) => {
      const size = CLUSTERS[outage.loop];
      await using herd = new Herd(size, outage.seconds, outage.loop);
      await herd.pass(150);
      const steady = herd.seen.length;
      await herd.pass(50);
      const before = (herd.seen.length - steady) / 50;
      await herd.suffer(outage);

      const back = herd.now;
      const from = herd.seen.length;
      const firsts = herd.forgetContacts();
      await herd.pass(240);
      expect(firsts.size).toBe(size);
      const returns = [...firsts.values()].map((at) => at - back).sort((a, b) => a - b);
      const last = returns.at(-1) ?? 0;
      // Silence counts from when the control plane listens again.
      expect(last).toBeLessThan(silenceLimitMs({ intervals: JSON.stringify(DEFAULT_INTERVALS) }) / 2);

      const counts = bySecond(
        herd.seen.slice(from).map((at) => at - back),
        241,
      );
      // The last hundredth comes late, by having asked in vain so often; it is no part of the window.
      const window = Math.ceil((returns[Math.floor(size * 0.99)] ?? 0) / 1000);
      const [returning, later] = [counts.slice(0, window), counts.slice(window, 240)];
      expect(Math.max(...returning) / mean(returning)).toBeLessThanOrEqual(PEAK);
      // Nor do they come again in waves, or more often than before.
      expect(Math.max(...later) / mean(later)).toBeLessThanOrEqual(PEAK);
      expect(mean(later) / before).toBeLessThan(2);
    },
  );
});
