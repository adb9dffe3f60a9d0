import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../../support/real-cluster/real-cluster.ts';
import { Candidates, type Candidate } from './candidates.ts';

const LEASE_KIND = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

function connect(kubeconfig: string): ClusterApi & AsyncDisposable {
  return connectCluster({
    kubeconfig: { kind: 'text', yaml: kubeconfig },
    userAgent: 'test',
    clock: systemClock,
    random: Math.random,
  });
}

function leaderElection(api: () => ClusterApi): void {
  let made = 0;
  const candidates = (): Candidates => {
    made += 1;
    return new Candidates(api(), `lease-${made}`);
  };
  const leading = (...all: readonly Candidate[]): boolean[] => all.map(({ election }) => election.leads);

  it('takes a Lease that is not there at once, and says who holds it since when', async () => {
    await using all = candidates();
    const a = await all.add('a', { labels: () => ({ 'app.service.io/cluster-id': 'c-1' }) });
    expect(leading(a)).toEqual([true]);
    expect(await all.read()).toMatchObject({
      metadata: { labels: { 'app.service.io/cluster-id': 'c-1' } },
      spec: {
        holderIdentity: 'a',
        leaseDurationSeconds: 12,
        leaseTransitions: 0,
        acquireTime: '2026-03-01T10:00:00.000000Z',
        renewTime: '2026-03-01T10:00:00.000000Z',
      },
    });
    await all.pass(2000, a);
    expect((await all.read())?.spec).toMatchObject({
      acquireTime: '2026-03-01T10:00:00.000000Z',
      renewTime: '2026-03-01T10:00:02.000000Z',
    });
  });

  it('lets one lead, whatever the clocks say, and the other say once that it waits', async () => {
    await using all = candidates();
    const a = await all.add('a');
    const b = await all.add('b', { time: '2031-01-01T00:00:00.000Z' });
    await all.pass(60_000, a, b);
    expect(leading(a, b)).toEqual([true, false]);
    expect(b.log.map(({ msg, holder }) => [msg, holder])).toEqual([
      ['another operator leads; this one stands by', 'a'],
    ]);
  });

  it('takes the Lease of one that died twelve seconds after it was last seen to change', async () => {
    await using all = candidates();
    const a = await all.add('a', { time: '2031-01-01T00:00:00.000Z' });
    const b = await all.add('b');
    await all.pass(5000, a, b);
    // Renewed at 4 s; seen by b within a second.
    await all.pass(10_900, b);
    expect(leading(b)).toEqual([false]);
    await all.pass(1200, b);
    expect(leading(b)).toEqual([true]);
    expect((await all.read())?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('takes it although somebody keeps writing to its metadata', async () => {
    await using all = candidates();
    await all.add('a');
    const b = await all.add('b');
    for (let second = 0; second < 13; second += 1) {
      const annotations = { note: String(second) };
      await api().mergePatch({ ...LEASE_KIND, ...all.lease }, { metadata: { annotations } });
      await all.pass(1000, b);
    }
    expect(leading(b)).toEqual([true]);
  });

  it('is given back by one that stops, after its work has ended, and taken at the next look', async () => {
    await using all = candidates();
    let release = (): void => undefined;
    const a = await all.add('a', {
      lead: async () => {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      },
    });
    const b = await all.add('b');
    const stopped = a.stop();
    await all.pass(2000, b);
    expect([a.term?.signal.aborted, await all.holder()]).toEqual([true, 'a']);
    release();
    await stopped;
    expect((await all.read())?.spec?.holderIdentity ?? '').toBe('');
    await all.pass(1000, b);
    expect([await all.holder(), (await all.read())?.spec?.leaseTransitions]).toEqual(['b', 1]);
  });

  it('is left alone by its holder after eight seconds without an answer, four before another takes it', async () => {
    await using all = candidates();
    const a = await all.add('a');
    const b = await all.add('b');
    await all.pass(2000, a, b);
    a.server = 'gone';
    await all.pass(7900, a, b);
    expect([...leading(a, b), a.term?.signal.aborted]).toEqual([true, false, false]);
    await all.pass(100, a, b);
    expect([...leading(a, b), a.term?.signal.aborted]).toEqual([false, false, true]);
    await all.pass(3900, a, b);
    expect(leading(a, b)).toEqual([false, false]);
    await all.pass(1100, a, b);
    expect(leading(a, b)).toEqual([false, true]);
    // It stands by again, and takes over when that one is gone in turn.
    a.server = 'there';
    // An attempt that nobody answers takes four seconds.
    await all.pass(5000, a, b);
    await b.stop();
    await all.pass(1000, a);
    expect([...leading(a, b), a.terms]).toEqual([true, false, 2]);
    expect((await all.read())?.spec?.leaseTransitions).toBe(2);
  });

  it('lets a process that was suspended write nothing, before any of its timers has run', async () => {
    await using all = candidates();
    const a = await all.add('a');
    const b = await all.add('b');
    await all.pass(4000, a, b);
    await all.pass(14_000, b);
    const { term } = a;
    expect([leading(a, b), term?.signal.aborted]).toEqual([[true, true], false]);
    a.clock.advance(14_000);
    // In the same turn of the event loop as it wakes up.
    expect(() => term?.check()).toThrow(expect.objectContaining({ status: 0, reason: 'LeadershipLost' }));
    expect([...leading(a, b), term?.signal.aborted]).toEqual([false, true, true]);
    await all.settled();
    await all.pass(3000, a, b);
    expect([await all.holder(), a.terms]).toEqual(['b', 1]);
  });

  it('is taken by one of several that find it free in one moment', async () => {
    await using all = candidates();
    await all.add('dead');
    const rest = await Promise.all(['b', 'c', 'd'].map(async (name) => await all.add(name)));
    await all.pass(14_000, ...rest);
    expect(leading(...rest).filter(Boolean)).toHaveLength(1);
    expect(rest.reduce((terms, one) => terms + one.terms, 0)).toBe(1);
  });

  it('is made anew by its holder when somebody deletes it, and not taken by another meanwhile', async () => {
    await using all = candidates();
    const a = await all.add('a');
    const b = await all.add('b');
    await all.pass(3000, a, b);
    await api().delete({ ...LEASE_KIND, ...all.lease });
    await all.pass(1900, b);
    expect([await all.holder(), ...leading(a, b)]).toEqual([undefined, true, false]);
    await all.pass(2000, a, b);
    expect([await all.holder(), ...leading(a, b), a.terms]).toEqual(['a', true, false, 1]);
  });

  it('is given back and the fault passed on when the work fails', async () => {
    await using all = candidates();
    const a = await all.add('a', { lead: async () => await Promise.reject(new Error('a loop failed')) });
    expect(await a.ended).toEqual(new Error('a loop failed'));
    expect((await all.holder()) ?? '').toBe('');
  });

  it('lets a process that stops write nothing once its time is over, and ends', async () => {
    await using all = candidates();
    let release = (): void => undefined;
    const lead = async (): Promise<void> => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    const a = await all.add('a', { lead });
    a.server = 'gone';
    const stopped = a.stop();
    await all.pass(8000, a);
    expect(() => a.term?.check()).toThrow(expect.objectContaining({ reason: 'LeadershipLost' }));
    release();
    await stopped;
    expect(await a.ended).toBeUndefined();
  });

  it('ends the process when the work of a lost term does not end', async () => {
    await using all = candidates();
    const a = await all.add('a', { lead: async () => await new Promise(() => undefined) });
    a.server = 'gone';
    await all.pass(8100, a);
    await all.pass(30_000, a);
    expect(await a.ended).toEqual(new Error('the work of a lost term has not ended after 30000 ms'));
  });

  it('says once that it cannot be read, for as long as that is so', async () => {
    await using all = candidates();
    const a = await all.add('a');
    const b = await all.add('b');
    b.server = 403;
    await a.stop();
    await all.pass(20_000, b);
    expect([b.election.fault, ...leading(b)]).toEqual(['no', false]);
    expect(b.log.filter(({ msg }) => msg === 'the Lease cannot be read or written')).toHaveLength(1);
    b.server = 'there';
    await all.pass(1000, b);
    expect([b.election.fault, ...leading(b)]).toEqual([undefined, true]);
  });
}

describe('leader election on the sandbox', () => {
  let own: AsyncDisposableStack;
  let api: ClusterApi;
  beforeAll(async () => {
    own = new AsyncDisposableStack();
    const sandbox = own.use(await startSandbox({ tls: false }));
    api = own.use(connect(sandbox.kubeconfig()));
  });
  afterAll(async () => await own.disposeAsync());
  leaderElection(() => api);
});

describeRealCluster('leader election on a real API server', (start) => {
  let own: AsyncDisposableStack;
  let api: ClusterApi;
  beforeAll(async () => {
    own = new AsyncDisposableStack();
    const cluster = own.use(await start());
    api = own.use(connect(cluster.kubeconfig));
  }, START_TIMEOUT_MS);
  afterAll(async () => await own?.disposeAsync());
  leaderElection(() => api);
});
