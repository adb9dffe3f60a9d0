import { describe, expect, it } from 'vitest';
import { checkCluster } from '../../src/cli/doctor-cluster.ts';
import { conditionNews } from '../../src/resources/condition-news.ts';
import { CLUSTER_CONDITIONS } from '../../src/resources/condition-types.ts';

/** As a cluster has them where nothing is wrong; a type without a row fails. */
const HEALTHY: Readonly<Record<(typeof CLUSTER_CONDITIONS)[number], 'True' | 'False'>> = {
  Authenticated: 'True',
  ConfigurationServed: 'True',
  Connected: 'True',
  Disconnected: 'False',
  BufferOverflow: 'False',
  JobReportRefused: 'False',
  ControllersHealthy: 'True',
  Synced: 'True',
  RemovedWithoutTombstone: 'False',
  Stalled: 'False',
  SourceHistoryRewritten: 'False',
  SourcePartial: 'True',
  OperatorUpToDate: 'True',
  VersionSupported: 'True',
  RegistrationTokenSpent: 'True',
  NamespacesGranted: 'True',
  SigningKeyTrusted: 'True',
};
const UNALARMING = new Set(['SourcePartial', 'RegistrationTokenSpent']);

describe.each(CLUSTER_CONDITIONS)('%s', (type) => {
  const status = HEALTHY[type];
  const opposite = status === 'True' ? 'False' : 'True';

  it('is good news of a healthy cluster, and its opposite is not', () => {
    expect(conditionNews({ type, status })).toBe('good');
    const news = conditionNews({ type, status: opposite });
    expect(UNALARMING.has(type) ? ['neutral'] : ['warning', 'bad']).toContain(news);
    expect(conditionNews({ type, status: 'Unknown' })).toBe('neutral');
  });
});

it('takes what is under way for no alarm, and what ended as wanted for good', () => {
  const news = (type: string, status: string, reason?: string) =>
    conditionNews({ type, status, ...(reason === undefined ? {} : { reason }) });
  expect([news('Reconciling', 'False', 'Stable'), news('Reconciling', 'True'), news('Ready', 'False')]).toEqual(
    ['neutral', 'neutral', 'warning'], //
  );
  expect([news('Expired', 'False', 'CredentialRevoked'), news('Expired', 'False')]).toEqual(['bad', 'good']);
  expect([news('Failed', 'True'), news('Succeeded', 'True'), news('Running', 'False')]).toEqual(
    ['bad', 'good', 'neutral'], //
  );
});

it('lets the doctor find nothing wrong with a healthy cluster, and each thing that is', () => {
  const cluster = (conditions: readonly { readonly type: string; readonly status: string }[]) =>
    ({ slug: 'prod', conditions, lastContactAt: '2026-11-29T00:00:00Z' }) as unknown as Parameters<
      typeof checkCluster
    >[0];
  const told = Object.entries(HEALTHY).map(([type, status]) => ({ type, status }));
  const states = checkCluster(cluster(told), new Date('2026-11-29T00:00:00Z')).map(({ state }) => state);
  expect(new Set(states)).toEqual(new Set(['ok']));
  const lost = checkCluster(cluster([{ type: 'BufferOverflow', status: 'True' }]), new Date('2026-11-29T00:00:00Z'));
  expect(lost.at(-1)).toMatchObject({ check: 'prod: BufferOverflow', state: 'failed' });
});
