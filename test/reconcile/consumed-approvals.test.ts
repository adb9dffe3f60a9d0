import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError } from '../../src/kube/cluster-api.ts';
import { ConsumedApprovals } from '../../src/reconcile/consumed-approvals.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { CLUSTER_ID } from './manifests.ts';
import { RecordingApi } from './recording-api.ts';
import { startTestCluster, type TestCluster } from './test-cluster.ts';

const signal = new AbortController().signal;
const REF = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'service-system', name: 'service-operator-approvals' };
const OK = { state: 'ok' };

let cluster: TestCluster;
let recording: RecordingApi;
let clock: ManualClock;

beforeEach(async () => {
  cluster = await startTestCluster();
  recording = new RecordingApi(cluster.api);
  clock = new ManualClock();
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

async function load(): Promise<ConsumedApprovals> {
  const approvals = new ConsumedApprovals({ api: recording.api, clock, clusterId: () => CLUSTER_ID });
  await approvals.load(signal);
  return approvals;
}

function object(uid: string, name = 'nightly'): KubeObject {
  return { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', metadata: { name, namespace: 'shop', uid } };
}

function approval(jti: string, hours = 24): { readonly jti: string; readonly exp: number } {
  return { jti, exp: clock.now().getTime() / 1000 + hours * 3600 };
}

async function stored(): Promise<readonly unknown[]> {
  const found = await cluster.api.get<KubeObject & { data?: Record<string, string> }>(REF);
  return Object.values(found?.data ?? {}).map((text): unknown => JSON.parse(text));
}

describe('an approval', () => {
  it('is good for one object, however often that asks', async () => {
    const approvals = await load();
    expect(approvals.usedBy('a', 'u1')).toBeUndefined();
    expect(await approvals.consume(approval('a'), object('u1'), signal)).toEqual(OK);
    expect(await approvals.consume(approval('a'), object('u1'), signal)).toEqual(OK);
    const used = { state: 'used', by: 'Operation shop/nightly' };
    expect(await approvals.consume(approval('a'), object('u2'), signal)).toEqual(used);
    expect([approvals.usedBy('a', 'u1'), approvals.usedBy('a', 'u2'), approvals.usedBy('a', undefined)]).toEqual([
      undefined,
      used.by,
      used.by,
    ]);
    expect(recording.calls.filter(({ verb }) => verb !== 'get')).toEqual([
      { verb: 'create', about: 'ConfigMap service-system/service-operator-approvals' },
    ]);
  });

  it('is remembered by the next process, and by one that takes over in the middle', async () => {
    const [first, second] = [await load(), await load()];
    expect(await first.consume(approval('a'), object('u1'), signal)).toEqual(OK);
    expect(await second.consume(approval('a'), object('u2'), signal)).toMatchObject({ state: 'used' });
    expect(await second.consume(approval('b'), object('u2'), signal)).toEqual(OK);
    expect(await first.consume(approval('b'), object('u1'), signal)).toMatchObject({ state: 'used' });
    expect((await load()).usedBy('b', 'u1')).toBe('Operation shop/nightly');
    const found = await cluster.api.get(REF);
    expect(found?.metadata.labels).toEqual({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': CLUSTER_ID,
    });
  });

  it('is not used as long as that could not be written down', async () => {
    const approvals = await load();
    const down = new KubeError('down', { status: 503, reason: 'ServiceUnavailable' });
    recording.beforeWrite = () => {
      throw down;
    };
    await expect(approvals.consume(approval('a'), object('u1'), signal)).rejects.toBe(down);
    expect(approvals.usedBy('a', 'u2')).toBeUndefined();
    recording.beforeWrite = () => undefined;
    expect(await approvals.consume(approval('a'), object('u2'), signal)).toEqual(OK);
  });

  it('is done with once its object used a later one', async () => {
    const approvals = await load();
    for (const jti of ['a', 'b']) expect(await approvals.consume(approval(jti), object('u1'), signal)).toEqual(OK);
    const by = 'Operation shop/nightly before a later approval';
    expect(await approvals.consume(approval('a'), object('u1'), signal)).toEqual({ state: 'used', by });
    expect(await (await load()).consume(approval('b'), object('u1'), signal)).toEqual(OK);
  });

  it('stays used although somebody deletes or empties what it is written in', async () => {
    const approvals = await load();
    await approvals.consume(approval('a'), object('u1'), signal);
    await cluster.api.delete(REF);
    expect(await approvals.consume(approval('b'), object('u2'), signal)).toEqual(OK);
    expect(await stored()).toHaveLength(2);
    await cluster.api.mergePatch(REF, { data: null });
    expect(await approvals.consume(approval('c'), object('u3'), signal)).toEqual(OK);
    expect(await stored()).toHaveLength(3);
    const next = await load();
    for (const jti of ['a', 'b', 'c']) expect(next.usedBy(jti, 'other')).toBe('Operation shop/nightly');
  });

  it('is forgotten an hour after its end, with the next that is used', async () => {
    const approvals = await load();
    await approvals.consume(approval('a', 1), object('u1'), signal);
    clock.advance(2 * 3_600_000);
    await approvals.consume(approval('b'), object('u2'), signal);
    expect(await stored()).toHaveLength(2);
    clock.advance(1000);
    await approvals.consume(approval('c'), object('u3'), signal);
    expect(await stored()).toMatchObject([{ uid: 'u2' }, { uid: 'u3' }]);
  });

  it('waits where more are in use than are remembered, until the first of them ended', async () => {
    const text = (index: number): string =>
      JSON.stringify({ uid: `u${index}`, about: 'Operation shop/o', exp: approval('', 1).exp, order: 1 });
    const data = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`k${index}`, text(index)]));
    const { apiVersion, kind, name, namespace } = REF;
    await cluster.api.create({ apiVersion, kind, metadata: { name, namespace }, data }, 'test');
    const approvals = await load();
    expect(await approvals.consume(approval('a'), object('u'), signal)).toEqual({ state: 'full', kept: 4000 });
    clock.advance(2 * 3_600_000 + 1000);
    expect(await approvals.consume(approval('a'), object('u'), signal)).toEqual(OK);
    expect(await stored()).toMatchObject([{ uid: 'u' }]);
  });

  it('of any name is kept, and what cannot be read is no use of one', async () => {
    const { apiVersion, kind, name, namespace } = REF;
    const data = { a: 'nonsense', b: '{}' };
    await cluster.api.create({ apiVersion, kind, metadata: { name, namespace }, data }, 'test');
    const approvals = await load();
    expect(await approvals.consume(approval('ä/ b\n'), object('u1'), signal)).toEqual(OK);
    expect((await load()).usedBy('ä/ b\n', 'u2')).toBe('Operation shop/nightly');
    await expect(approvals.consume(approval('c'), { ...object(''), metadata: { name: 'x' } }, signal)).rejects.toThrow(
      'Operation /x has no UID',
    );
  });
});

it('never lets two objects use one approval, whoever leads and whatever is restarted', async () => {
  const step = fc.record({
    by: fc.nat(2),
    jti: fc.constantFrom('a', 'b', 'c'),
    uid: fc.constantFrom('u1', 'u2', 'u3'),
    before: fc.constantFrom('nothing', 'restart', 'together'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      await cluster.api.delete(REF);
      const leaders = [await load(), await load(), await load()];
      const users = new Map<string, Set<string>>();
      const pending: Promise<void>[] = [];
      for (const { by, jti, uid, before } of steps) {
        if (before !== 'together') await Promise.all(pending.splice(0));
        if (before === 'restart') leaders[by] = await load();
        const use = async (): Promise<void> => {
          const answer = await leaders[by]?.consume(approval(jti), object(uid), signal);
          if (answer?.state === 'ok') users.set(jti, (users.get(jti) ?? new Set()).add(uid));
        };
        pending.push(use());
      }
      await Promise.all(pending);
      for (const [jti, uids] of users) expect([jti, uids.size]).toEqual([jti, 1]);
    }),
    { numRuns: 40 },
  );
});
