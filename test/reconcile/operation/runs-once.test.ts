import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recordOfLive } from '../../../src/reconcile/inventory.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { setOperationStage, type OperationStage } from './stage.ts';

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const DONE = { state: 'succeeded', reason: Reason.JobCompleted, message: 'done' } as const;
const ref = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'job' };
const MODES = ['pull', 'gitops', 'push'] as const;

/** As a pass of the apply loop notes what it finds under the name. */
async function noteAsApplied(): Promise<void> {
  const live = await stage.read();
  const record = live && recordOfLive(live, live);
  expect(record).toBeDefined();
  if (record !== undefined) stage.inventory.record(record);
}

async function deleteByHand(): Promise<void> {
  await stage.cluster.api.delete(ref);
  expect(await stage.read()).toBeUndefined();
}

describe.each(MODES)('in %s mode an operation that was deleted by hand and made again from a copy', (mode) => {
  beforeEach(() => {
    stage.policy = { ...stage.policy, mode };
    stage.runner.first = DONE;
  });

  it('does not run a second time, even where a pass takes the copy for the object', async () => {
    await stage.start();
    await stage.deliver();
    await stage.until('Succeeded');
    await noteAsApplied();
    await deleteByHand();
    await stage.deliver();
    await stage.until('Blocked', Reason.StaleSource);
    await noteAsApplied();
    stage.later(60);
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Succeeded', undefined, 'behind');
    await stage.until('Blocked', Reason.StaleSource);
    // And neither does a copy of the copy.
    await deleteByHand();
    await stage.deliver();
    await stage.until('Blocked', Reason.StaleSource);
    await stage.restart();
    stage.later(60);
    await stage.deliver({}, { name: 'further' });
    await stage.until('Succeeded', undefined, 'further');
    expect(stage.runner.starts).toEqual(['job-1', 'behind-1', 'further-1']);
  });

  it('does not run a second time where the operator was killed in between', async () => {
    await stage.start();
    await stage.deliver();
    await stage.until('Succeeded');
    await stage.stop();
    await deleteByHand();
    await stage.deliver();
    await stage.start();
    await stage.until('Blocked', Reason.StaleSource);
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('runs once where it had not begun', async () => {
    stage.policy = { ...stage.policy, operationTemplates: [] };
    await stage.start();
    await stage.deliver();
    await stage.until('Blocked');
    await noteAsApplied();
    await deleteByHand();
    await stage.deliver();
    await stage.until('Blocked');
    stage.allow({ operationTemplates: ['run-job'] });
    await stage.until('Succeeded');
    expect(stage.runner.starts).toEqual(['job-1']);
  });
});

describe.each(MODES)('in %s mode an operation that is deleted while it runs', (mode) => {
  const LOST = ['Running OperationRunning', 'Failed OperationLost'];
  const toldOf = (): readonly string[] => stage.told.filter((line) => /^(Running|Failed|Cancelled) /.test(line));

  beforeEach(async () => {
    stage.policy = { ...stage.policy, mode };
    await stage.start();
    await stage.deliver();
    await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);
  });

  it('is told as lost, once, for the intent that asked for it', async () => {
    await deleteByHand();
    await vi.waitFor(() => expect([...new Set(toldOf())]).toEqual(LOST), 30_000);
    stage.runner.first = DONE;
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Succeeded', undefined, 'behind');
    await stage.restart();
    await stage.deliver({}, { name: 'further' });
    await stage.until('Succeeded', undefined, 'further');
    const lost = stage.reported.filter(({ after }) => after.some(({ reason }) => reason === Reason.OperationLost));
    expect(lost.map(({ source, ref: about }) => [source.intentId, about.name])).toEqual([['int-1', 'job']]);
  });

  it('is told as lost by an operator that was away when it went', async () => {
    await stage.stop();
    await deleteByHand();
    await stage.start();
    await vi.waitFor(() => expect(toldOf()).toContain('Failed OperationLost'), 30_000);
  });

  it('is told as lost where a copy has taken its place meanwhile', async () => {
    await stage.stop();
    await deleteByHand();
    await stage.deliver();
    await stage.start();
    await stage.until('Blocked', Reason.StaleSource);
    expect(toldOf()).toContain('Failed OperationLost');
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('is not cancelled by a cancellation that comes afterwards, and no longer waits for it', async () => {
    await deleteByHand();
    await stage.deliver({ cancel: true }, { source: '1.2' });
    const { status } = await stage.until('Failed', Reason.OperationLost);
    expect(status?.conditions?.find(({ type }) => type === 'Failed')?.message).toMatch(/^it was cancelled too late: /);
    expect(stage.runner.starts).toEqual(['job-1']);
  });
});
