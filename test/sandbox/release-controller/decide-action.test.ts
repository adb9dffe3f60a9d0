import { describe, expect, it } from 'vitest';
import type { HelmReleaseSpec } from '../../../src/resources/flux-helm-release.ts';
import { decideAction, type ReleaseRecord } from '../../../src/sandbox/release-controller/decide-action.ts';
import {
  recordRelease,
  type DesiredRelease,
  type Snapshot,
} from '../../../src/sandbox/release-controller/release-history.ts';
import { goDuration, milliseconds } from '../../../src/sandbox/release-controller/go-duration.ts';

const at = { now: '2026-03-01T10:00:00Z', digest: 'sha256:0' };
const wanted = (chartVersion: string): DesiredRelease => ({
  name: 'podinfo',
  namespace: 'shop',
  chartName: 'podinfo',
  chartVersion,
  appVersion: chartVersion,
  configDigest: 'sha256:1',
});
const released = (...releases: readonly [string, 'deployed' | 'failed'][]): Snapshot[] =>
  releases.reduce<Snapshot[]>((history, [version, status]) => recordRelease(history, wanted(version), status, at), []);

function decide(
  history: readonly Snapshot[],
  spec: Partial<HelmReleaseSpec> = {},
  record: Partial<ReleaseRecord> = {},
  forced = false,
): unknown {
  const counters = { lastAction: undefined, installFailures: 0, upgradeFailures: 0 };
  return decideAction({ interval: '5m', ...spec }, { ...counters, ...record, history }, wanted('2'), forced);
}

const stalled = (action: string, count: number): unknown => ({
  kind: 'stall',
  reason: 'RetriesExceeded',
  message: `Failed to ${action} after ${count} attempt(s)`,
});

describe('the next action', () => {
  const upgradeFailed = { lastAction: 'upgrade', upgradeFailures: 1 } as const;
  const installFailed = { lastAction: 'install', installFailures: 1 } as const;
  const upTwice = released(['1', 'deployed'], ['2', 'failed']);
  const previous = { kind: 'rollback', to: released(['1', 'deployed'])[0] };
  const retries = (count: number, more: object = {}) => ({ upgrade: { remediation: { retries: count, ...more } } });

  it.each<[string, unknown, unknown]>([
    ['install, where nothing is', decide([]), { kind: 'install' }],
    ['nothing, where all is as wanted', decide(released(['2', 'deployed'])), { kind: 'none' }],
    ['upgrade, where another version is', decide(released(['1', 'deployed'])), { kind: 'upgrade' }],
    [
      'upgrade, when forced although all is as wanted',
      decide(released(['2', 'deployed']), {}, {}, true),
      { kind: 'upgrade' },
    ],
    ['stall, after a failed upgrade without retries', decide(upTwice, {}, upgradeFailed), stalled('upgrade', 1)],
    ['roll back, while retries are left', decide(upTwice, retries(1), upgradeFailed), previous],
    [
      'roll back after the last retry too',
      decide(upTwice, retries(1), { ...upgradeFailed, upgradeFailures: 2 }),
      previous,
    ],
    [
      'stall, when the last failure is to be left as it is',
      decide(upTwice, retries(1, { remediateLastFailure: false }), { ...upgradeFailed, upgradeFailures: 2 }),
      stalled('upgrade', 2),
    ],
    [
      'roll back for ever with endless retries',
      decide(upTwice, retries(-1), { ...upgradeFailed, upgradeFailures: 99 }),
      previous,
    ],
    [
      'uninstall, where that is the strategy',
      decide(upTwice, retries(1, { strategy: 'uninstall' }), upgradeFailed),
      {
        kind: 'uninstall-remediation',
      },
    ],
    [
      'upgrade, when what failed was changed since',
      decide(upTwice, {}, { lastAction: 'upgrade' }),
      { kind: 'upgrade' },
    ],
    ['upgrade, when a failed release is forced', decide(upTwice, {}, upgradeFailed, true), { kind: 'upgrade' }],
    [
      'stall, after a failed installation without retries',
      decide(released(['2', 'failed']), {}, installFailed),
      stalled('install', 1),
    ],
    [
      'uninstall a failed installation, while retries are left',
      decide(released(['2', 'failed']), { install: { remediation: { retries: 1 } } }, installFailed),
      { kind: 'uninstall-remediation' },
    ],
    [
      'stall, where there is nothing to roll back to',
      decide(released(['1', 'failed'], ['2', 'failed']), retries(3), upgradeFailed),
      {
        kind: 'stall',
        reason: 'MissingRollbackTarget',
        message: 'Failed to perform remediation: missing target release for rollback: cannot remediate failed release',
      },
    ],
    [
      'stall, rolled back and out of retries',
      decide(released(['1', 'deployed']), {}, upgradeFailed),
      stalled('upgrade', 1),
    ],
  ])('is to %s', (_name, action, expected) => {
    expect(action).toEqual(expected);
  });
});

describe('a Go duration', () => {
  it.each([
    ['5m', 300_000, '5m0s'],
    ['1h30m', 5_400_000, '1h30m0s'],
    ['90s', 90_000, '1m30s'],
    ['250ms', 250, '250ms'],
    ['1.5s', 1_500, '1.5s'],
    ['0s', 0, '0s'],
  ])('%s is %i ms and printed as %s', (text, ms, printed) => {
    expect(milliseconds(text)).toBe(ms);
    expect(goDuration(ms)).toBe(printed);
  });

  it.each(['', 'soon', '5', '-5m', '5m;rm'])('%j is none', (text) => {
    expect(milliseconds(text)).toBe(0);
  });
});
