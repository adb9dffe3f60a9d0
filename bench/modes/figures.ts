import { CONNECTIVITY_MODES, type ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';

/** One intent, from accepted to Ready seen by the control plane. */
export interface Sample {
  readonly mode: ConnectivityMode;
  readonly readyMs: number;
  readonly deliveredMs: number;
  /** Of `readyMs`, what the release controller took. */
  readonly releaseMs: number;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface ModeRow {
  readonly mode: ConnectivityMode;
  readonly count: number;
  /** Without the release controller's time. */
  readonly ready: Spread;
  readonly all: Spread;
  readonly delivered: Spread;
  readonly release: Spread;
}

/** The smallest of the values that no fewer than so many percent are at or below. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN;
}

export function rowsOf(samples: readonly Sample[]): readonly ModeRow[] {
  return CONNECTIVITY_MODES.map((mode) => {
    const of = samples.filter((sample) => sample.mode === mode);
    const spread = (value: (sample: Sample) => number): Spread => {
      const values = of.map((sample) => value(sample));
      return { p50: percentile(values, 50), p99: percentile(values, 99) };
    };
    return {
      mode,
      count: of.length,
      ready: spread(({ readyMs, releaseMs }) => readyMs - releaseMs),
      all: spread(({ readyMs }) => readyMs),
      delivered: spread(({ deliveredMs }) => deliveredMs),
      release: spread(({ releaseMs }) => releaseMs),
    };
  });
}
