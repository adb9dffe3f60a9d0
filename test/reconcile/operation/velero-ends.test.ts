import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CHANNEL_REASONS } from '../../../src/events/ingest/channel-reasons.ts';
import type { TemplateRunner } from '../../../src/reconcile/operation/template-runner.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { setOperationStage, type OperationStage } from './stage.ts';

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
  stage.runner.isStoppable = false;
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

async function begin(name: TemplateRunner['name'], parameters: Record<string, unknown>): Promise<void> {
  stage.options = { runners: [stage.runner.as(name)] };
  await stage.start();
  await stage.deliver({ template: name, parameters, deadlineSeconds: 60 });
  await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), { timeout: 30_000 });
}

async function failure(): Promise<{ readonly reason: string; readonly message: string }> {
  const { status } = await stage.until('Failed');
  const { reason = '', message = '' } = status?.conditions?.find(({ type }) => type === 'Failed') ?? {};
  expect(status?.reason).toBe(reason);
  return { reason, message };
}

describe.for([
  ['velero-backup', {}, Reason.VeleroBackupFailed],
  ['velero-restore', { backup: 'nightly-1' }, Reason.VeleroRestoreFailed],
] as const)('%s', ([name, parameters, reason]) => {
  it('that misses its deadline ends with the reason that the channel tells', async () => {
    await begin(name, parameters);
    stage.later(61);
    const failed = await failure();
    expect(failed.reason).toBe(reason);
    expect(failed.message).toMatch(/^DeadlineExceeded: it had not ended 60 s after its start: at work; its template /);
    expect(CHANNEL_REASONS.has(failed.reason)).toBe(true);
  });

  it('whose object is deleted while it runs ends with that reason too', async () => {
    await begin(name, parameters);
    stage.runner.tries.clear();
    stage.later(0);
    await expect(failure()).resolves.toEqual({
      reason,
      message: 'OperationLost: what try 1 had made is gone, so nobody can say how it ended',
    });
  });

  it('that fails in words of its own keeps them', async () => {
    await begin(name, parameters);
    stage.runner.become({ state: 'failed', reason, message: 'it is PartiallyFailed', isFinal: true });
    stage.later(0);
    await expect(failure()).resolves.toEqual({ reason, message: 'it is PartiallyFailed' });
  });
});
