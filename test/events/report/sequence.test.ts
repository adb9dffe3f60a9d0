import { describe, expect, it } from 'vitest';
import { Sequence } from '../../../src/events/report/sequence.ts';
import { eventOrderKey } from '../../../src/protocol/event-order.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { startTestCluster, type TestCluster } from '../../reconcile/test-cluster.ts';

const NEVER = new AbortController().signal;
const MAP = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'service-system', name: 'service-operator-sequence' };
/** What the time is when nothing was counted yet. */
const START = '1772359200';

function sequenceOn(
  { api }: TestCluster,
  lease = { uid: 'lease-1', transitions: 0 },
  clock = new ManualClock('2026-03-01T10:00:00.000Z'),
): Sequence {
  return new Sequence({
    api,
    clock,
    namespace: 'service-system',
    lease,
    labels: () => ({ 'app.service.io/cluster-id': 'c-1' }),
  });
}

async function take(sequence: Sequence, count: number): Promise<string[]> {
  const numbers: string[] = [];
  for (let index = 0; index < count; index += 1) numbers.push(await sequence.next(NEVER));
  return numbers;
}

/** In the order in which the control plane folds. */
function grows(numbers: readonly string[]): boolean {
  const keys = numbers.map((sequence) =>
    eventOrderKey({ sequence, resourceRef: { apiVersion: 'v1', kind: 'Cluster', name: 'eu' } }, {}),
  );
  return keys.every((key, index) => index === 0 || key > (keys[index - 1] ?? ''));
}

describe('event numbers', () => {
  it('repeat nothing, with one write for a thousand', async () => {
    await using cluster = await startTestCluster();
    const first = await take(sequenceOn(cluster), 1001);
    const second = await take(sequenceOn(cluster), 2);
    expect([first[0], first[1000], ...second]).toEqual([
      `${START}.0`,
      `${START}.1000`,
      `${START}.2000`,
      `${START}.2001`,
    ]);
    const map = await cluster.api.get<KubeObject>(MAP);
    expect({ data: map?.['data'], labels: map?.metadata.labels }).toEqual({
      data: { transitions: START, next: '3000', lease: 'lease-1/0' },
      labels: { 'app.service.io/cluster-id': 'c-1' },
    });
  });

  it('grow with each transition of the Lease, with one that was made anew, and after a version without one', async () => {
    await using cluster = await startTestCluster();
    // As the version before this one left it.
    const data = { transitions: START, next: '7000' };
    await cluster.api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: MAP, data }, 'test');
    const numbers = [`${START}.6999`];
    for (const lease of [
      { uid: 'lease-1', transitions: 0 },
      { uid: 'lease-1', transitions: 1 },
      { uid: 'lease-1', transitions: 2 },
      { uid: 'lease-2', transitions: 0 },
    ]) {
      numbers.push(...(await take(sequenceOn(cluster, lease), 2)));
    }
    expect(numbers.map((number) => number.split('.')[0])).toEqual(
      [0, 1, 1, 2, 2, 3, 3, 4, 4].map((more) => String(Number(START) + more)),
    );
    expect(grows(numbers)).toBe(true);
  });

  it('stay greater when their ConfigMap was lost or holds nonsense', async () => {
    await using cluster = await startTestCluster();
    const later = (time: string): Sequence => sequenceOn(cluster, undefined, new ManualClock(time));
    await take(sequenceOn(cluster), 5);
    await cluster.api.delete(MAP);
    const [lost] = await take(later('2026-03-01T10:00:09.000Z'), 1);
    await cluster.api.mergePatch(MAP, { data: { next: '-1' } });
    const [nonsense] = await take(later('2026-03-01T10:00:12.000Z'), 1);
    expect([lost, nonsense]).toEqual(['1772359209.0', '1772359212.0']);
  });

  it('grow also for one whose ConfigMap was lost under it, with a clock that was set back', async () => {
    await using cluster = await startTestCluster();
    const clock = new ManualClock('2026-03-01T10:00:00.000Z');
    const sequence = sequenceOn(cluster, undefined, clock);
    const numbers = await take(sequence, 1000);
    await cluster.api.delete(MAP);
    clock.advance(-3_600_000);
    numbers.push(...(await take(sequence, 1)));
    expect(numbers.at(-1)).toBe('1772359201.0');
    expect(grows(numbers)).toBe(true);
  });

  it('are not given out any more by one whose Lease another holds', async () => {
    await using cluster = await startTestCluster();
    const old = sequenceOn(cluster);
    await take(old, 1);
    const [first] = await take(sequenceOn(cluster, { uid: 'lease-1', transitions: 1 }), 1);
    // What it has reserved comes before all that the next one counts; more it does not get.
    const rest = await take(old, 999);
    expect(grows([...rest, first ?? ''])).toBe(true);
    await expect(old.next(NEVER)).rejects.toThrow(/another operator numbers the events now/);
  });

  it('are not shared by two that count in one term', async () => {
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
    expect(await sequence.next(NEVER)).toBe(`${START}.0`);
  });
});
