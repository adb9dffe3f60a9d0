import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Reason } from '../../../src/resources/reasons.ts';
import { setOperationStage, type OperationStage } from './stage.ts';

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

describe('an Operation', () => {
  it('runs once to its end, says each step once, and stays as it ended', async () => {
    await stage.start();
    await stage.deliver();
    const running = await stage.until('Running', Reason.OperationRunning);
    expect(running.status).toMatchObject({ attempts: 1, run: { template: 'run-job', retries: 0 } });
    stage.runner.become({ state: 'succeeded', reason: Reason.OperationSucceeded, message: 'well\ndone' });
    const { status } = await stage.until('Succeeded', Reason.OperationSucceeded);
    expect(status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`)).toEqual([
      'Accepted=True OperationAccepted',
      'Blocked=False NotBlocked',
      'Running=False Finished',
      'Succeeded=True OperationSucceeded',
      'Failed=False NotReached',
      'Cancelled=False NotReached',
    ]);
    expect(status?.conditions?.find(({ type }) => type === 'Succeeded')?.message).toBe('well done');
    stage.runner.become({ state: 'failed', reason: Reason.OperationFailed, message: 'after all', isFinal: true });
    await stage.stop();
    await stage.start();
    await stage.deliver({}, { name: 'behind' });
    await stage.until('Failed', Reason.OperationFailed, 'behind');
    expect((await stage.read())?.status).toEqual(status);
    expect(stage.runner.starts).toEqual(['job-1', 'behind-1']);
    expect(stage.events.slice(0, 2)).toEqual(['Normal OperationRunning', 'Normal OperationSucceeded']);
    expect(stage.told.slice(0, 3)).toEqual([
      'Accepted OperationAccepted',
      'Running OperationRunning',
      'Succeeded OperationSucceeded',
    ]);
  });
});
