import { describe, expect, it } from 'vitest';
import { Sequence } from '../../../src/events/report/sequence.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { startTestCluster, type TestCluster } from '../../reconcile/test-cluster.ts';

const NEVER = new AbortController().signal;
const MAP = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'service-system', name: 'service-operator-sequence' };

function sequenceOn({ api }: TestCluster, clock = new ManualClock('2026-03-01T10:00:00.000Z')): Sequence {
  return new Sequence({
    api,
    clock,
    namespace: 'service-system',
    labels: () => ({ 'app.service.io/cluster-id': 'c-1' }),
  });
}

async function take(sequence: Sequence, count: number): Promise<string[]> {
  const numbers: string[] = [];
  for (let index = 0; index < count; index += 1) numbers.push(await sequence.next(NEVER));
  return numbers;
}

describe('event numbers', () => {
  it('grow across restarts and repeat nothing, with one write for a thousand', async () => {
    await using cluster = await startTestCluster();
    const first = await take(sequenceOn(cluster), 1001);
    const second = await take(sequenceOn(cluster), 2);
    expect([first[0], first[1000], ...second]).toEqual([
      '1772359200.0',
      '1772359200.1000',
      '1772359200.2000',
      '1772359200.2001',
    ]);
    const map = await cluster.api.get<KubeObject>(MAP);
    expect({ data: map?.['data'], labels: map?.metadata.labels }).toEqual({
      data: { transitions: '1772359200', next: '3000' },
      labels: { 'app.service.io/cluster-id': 'c-1' },
    });
  });

  it('stay greater when their ConfigMap was lost or holds nonsense', async () => {
    await using cluster = await startTestCluster();
    await take(sequenceOn(cluster), 5);
    await cluster.api.delete(MAP);
    const [lost] = await take(sequenceOn(cluster, new ManualClock('2026-03-01T10:00:09.000Z')), 1);
    await cluster.api.mergePatch(MAP, { data: { next: '-1' } });
    const [nonsense] = await take(sequenceOn(cluster, new ManualClock('2026-03-01T10:00:12.000Z')), 1);
    expect([lost, nonsense]).toEqual(['1772359209.0', '1772359212.0']);
  });

  it('are not shared by two operators that count at once', async () => {
    await using cluster = await startTestCluster();
    await take(sequenceOn(cluster), 1);
    const numbers = await Promise.all([1, 2, 3].map(async () => await take(sequenceOn(cluster), 2)));
    expect(new Set(numbers.flat()).size).toBe(6);
  });

  it('are not given out while they cannot be persisted', async () => {
    await using cluster = await startTestCluster();
    const sequence = sequenceOn(cluster);
    const mend = cluster.sandbox.faults.add({
      match: ({ path, method }) => path.includes('configmaps') && method !== 'GET',
      respond: { status: 403, body: '{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}' },
    });
    await expect(sequence.next(NEVER)).rejects.toMatchObject({ status: 403 });
    mend();
    expect(await sequence.next(NEVER)).toBe('1772359200.0');
  });
});
