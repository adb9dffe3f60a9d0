import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KubeError } from '../../../src/kube/cluster-api.ts';
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
const BAD = { state: 'failed', reason: Reason.JobFailed, message: 'it broke', isFinal: false } as const;
const down = (): never => {
  throw new KubeError('the API server does not answer', { status: 0, reason: 'NoAnswer' });
};
const saidOf = async (phase: string, reason: string): Promise<string> => {
  const { status } = await stage.until(phase, reason);
  return status?.conditions?.find(({ type }) => type === phase)?.message ?? '';
};
const begun = async (): Promise<void> =>
  await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);

describe('cancel', () => {
  it('before the start ends the operation, and it never starts', async () => {
    stage.policy = { ...stage.policy, operationTemplates: [] };
    await stage.start();
    await stage.deliver();
    await stage.until('Blocked');
    await stage.patch({ spec: { cancel: true } });
    expect(await saidOf('Cancelled', Reason.OperationCancelled)).toBe(
      'it was cancelled before it began; nothing was done',
    );
    stage.allow({ operationTemplates: ['run-job'] });
    await stage.deliver({ template: 'run-job' }, { name: 'behind' });
    await stage.until('Running', undefined, 'behind');
    expect(stage.runner.starts).toEqual(['behind-1']);
  });

  it('stops what runs, where the template can be stopped', async () => {
    await stage.start();
    await stage.deliver();
    await begun();
    await stage.patch({ spec: { cancel: true } });
    expect(await saidOf('Cancelled', Reason.OperationCancelled)).toBe('it was stopped');
    expect(stage.runner.stops).toEqual(['job-1']);
    expect(stage.events).toEqual(['Normal OperationRunning', 'Normal OperationCancelled']);
  });

  it('of what has ended by itself comes too late', async () => {
    await stage.start();
    await stage.deliver();
    await begun();
    stage.runner.become(DONE);
    await stage.patch({ spec: { cancel: true } });
    await stage.until('Succeeded');
    expect(stage.runner.stops).toEqual([]);
  });

  it('of a template that cannot be stopped is said to come to nothing, and it goes on', async () => {
    await stage.start();
    await stage.deliver({ template: 'rollout-restart', parameters: { name: 'web' } });
    await begun();
    await stage.patch({ spec: { cancel: true } });
    await vi.waitFor(
      async () =>
        expect(await saidOf('Running', Reason.OperationRunning)).toBe(
          'rollout-restart runs, for at most 900 s; cancel was asked for: this template cannot be stopped, so it goes on to its end',
        ),
      30_000,
    );
    stage.runner.become(DONE);
    await stage.until('Succeeded');
    expect(stage.runner.stops).toEqual([]);
  });
});

describe('the deadline', () => {
  it('counts from the start, not from when it was asked for, and stops what runs', async () => {
    stage.policy = { ...stage.policy, operationTemplates: [] };
    await stage.start();
    await stage.deliver({ deadlineSeconds: 60 });
    await stage.until('Blocked');
    stage.aheadMs = 3_600_000;
    stage.allow({ operationTemplates: ['run-job'] });
    await begun();
    stage.later(61);
    expect(await saidOf('Failed', Reason.DeadlineExceeded)).toBe('it had not ended 60 s after its start: at work');
    expect(stage.runner.stops).toEqual(['job-1']);
  });

  it('holds while the server says nothing of what runs and does not stop it', async () => {
    await stage.start();
    await stage.deliver({ deadlineSeconds: 60 });
    await begun();
    stage.runner.beforeObserve = down;
    stage.runner.beforeStop = down;
    stage.later(125);
    expect(await saidOf('Failed', Reason.DeadlineExceeded)).toBe(
      'it had not ended 60 s after its start: it cannot be seen how it stands: the API server does not answer; ' +
        'it could not be stopped: the API server does not answer',
    );
  });

  it('says what may go on where the template cannot be stopped', async () => {
    stage.runner.isStoppable = false;
    await stage.start();
    await stage.deliver({ deadlineSeconds: 60 });
    await begun();
    stage.later(61);
    expect(await saidOf('Failed', Reason.DeadlineExceeded)).toContain('so what it began may go on');
  });

  it('does not take back what had succeeded while the operator was away', async () => {
    await stage.start();
    await stage.deliver({ deadlineSeconds: 60 });
    await begun();
    await stage.stop();
    stage.runner.become(DONE);
    stage.aheadMs = 3_600_000;
    await stage.start();
    await stage.until('Succeeded');
  });
});

describe('another try', () => {
  const RETRIED = [{ name: 'run-job', retries: 1 }];

  it('follows after a pause, by a name of its own, and no more than are left', async () => {
    stage.policy = { ...stage.policy, templateDefinitions: RETRIED };
    stage.runner.first = BAD;
    await stage.start();
    await stage.deliver();
    expect(await saidOf('Running', Reason.OperationRetrying)).toMatch(
      /^try 1 of 2 failed: it broke; the next follows at \d{4}-/,
    );
    // Another number of retries is for operations of later.
    stage.policy = { ...stage.policy, templateDefinitions: [{ name: 'run-job', retries: 9 }] };
    await stage.restart();
    stage.later(11);
    expect(await saidOf('Failed', Reason.JobFailed)).toBe('it broke (try 2 of 2)');
    expect(stage.runner.starts).toEqual(['job-1', 'job-2']);
    expect(stage.told).toEqual([
      'Accepted OperationAccepted',
      'Running OperationRunning',
      'Running OperationRetrying',
      'Running OperationRunning',
      'Failed JobFailed',
    ]);
  });

  it('waits while the policy forbids it, and does not outlast the deadline', async () => {
    stage.policy = { ...stage.policy, templateDefinitions: RETRIED };
    stage.runner.first = BAD;
    await stage.start();
    await stage.deliver({ deadlineSeconds: 60 });
    await stage.until('Running', Reason.OperationRetrying);
    stage.allow({ operationTemplates: [] });
    stage.later(11);
    await vi.waitFor(
      async () =>
        expect(await saidOf('Running', Reason.OperationRetrying)).toMatch(
          /^try 1 does not go on, .*run-job is not allowed/,
        ),
      30_000,
    );
    stage.later(60);
    await stage.until('Failed', Reason.DeadlineExceeded);
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('is not made of what failed for good, nor where the try cannot begin', async () => {
    stage.policy = { ...stage.policy, templateDefinitions: RETRIED };
    stage.runner.refusal = { ...BAD, message: 'no right', isFinal: true };
    await stage.start();
    await stage.deliver();
    expect(await saidOf('Failed', Reason.JobFailed)).toBe('no right');
  });
});
