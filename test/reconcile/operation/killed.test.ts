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

const DONE = { state: 'succeeded', reason: Reason.JobCompleted, message: 'done', output: 'a line\n' } as const;

/** An operator that dies at its write number `after`; answers whether it came so far. */
async function livesUntil(after: number, isOver: () => Promise<boolean>): Promise<boolean> {
  let left = after;
  let died = false;
  await stage.stop();
  await stage.start();
  stage.recording.beforeWrite = () => {
    left -= 1;
    died ||= left < 0;
    if (died) throw new Error('killed');
  };
  await vi.waitFor(async () => expect(died || (await isOver())).toBe(true), { timeout: 30_000, interval: 2 });
  return died;
}

describe('wherever the operator is killed', { timeout: 90_000 }, () => {
  it('an operation runs once, keeps its output and is cleared away', async () => {
    stage.runner.first = DONE;
    await stage.deliver({ ttlSecondsAfterFinished: 0 });
    let after = 0;
    while (await livesUntil(after, async () => (await stage.read()) === undefined)) {
      after += 1;
      expect(after).toBeLessThan(20);
    }
    expect(new Set(stage.runner.starts)).toEqual(new Set(['job-1']));
    expect(stage.runner.tries.size).toBe(1);
    expect(stage.told.filter((line) => line.startsWith('Succeeded'))).toContain('Succeeded JobCompleted');
    expect(stage.told.filter((line) => !/^(Accepted|Running|Succeeded) /.test(line))).toEqual([]);
  });

  it('a cancelled one is stopped, and told as cancelled', async () => {
    await stage.start();
    await stage.deliver();
    await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);
    await stage.stop();
    await stage.patch({ spec: { cancel: true } });
    let after = 0;
    const isOver = async (): Promise<boolean> => (await stage.read())?.status?.phase === 'Cancelled';
    while (await livesUntil(after, isOver)) {
      after += 1;
      expect(after).toBeLessThan(20);
    }
    expect([new Set(stage.runner.stops), stage.runner.starts]).toEqual([new Set(['job-1']), ['job-1']]);
  });
});

it(
  'an API server that takes no write for a while holds an operation up, and it runs once',
  { timeout: 60_000 },
  async () => {
    await stage.start();
    let refusals = 0;
    stage.recording.beforeWrite = () => {
      refusals += 1;
      if (refusals > 3) return;
      throw new KubeError('etcd is slow', { status: 503, reason: 'ServiceUnavailable' });
    };
    stage.runner.first = DONE;
    await stage.deliver();
    await vi.waitFor(() => expect(refusals).toBeGreaterThan(0), { timeout: 30_000, interval: 5 });
    for (const seconds of [0, 0, 0]) {
      const before = refusals;
      stage.later(seconds);
      await vi.waitFor(() => expect(refusals).toBeGreaterThan(before), { timeout: 30_000, interval: 5 });
    }
    await stage.until('Succeeded', Reason.JobCompleted);
    expect(stage.runner.starts).toEqual(['job-1']);
  },
);
