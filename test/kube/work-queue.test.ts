import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError } from '../../src/kube/cluster-api.ts';
import { WorkQueue, type Worker, type WorkQueueDeps } from '../../src/kube/work-queue.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ManualClock } from '../support/manual-clock.ts';

const logger = createLogger('test', 'silent');
let clock: ManualClock;
let stop: AbortController;
let running: Promise<void> | undefined;

beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await running;
});

function start(worker: Worker, options: Partial<WorkQueueDeps> = {}): WorkQueue {
  const queue = new WorkQueue({ name: 'q', clock, random: () => 0, logger, ...options });
  running = queue.run(worker, stop.signal);
  return queue;
}

/** Lets everything run that is not waiting for the clock or for the test. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('the work queue', () => {
  it('works on a key once, however often it was added', async () => {
    const worked: string[] = [];
    const queue = start(async (key) => void worked.push(key));
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    await settle();
    expect(worked).toEqual(['a', 'b']);
    expect(queue.counts).toEqual({ ready: 0, active: 0, delayed: 0, failing: 0, done: 2, failed: 0 });
  });

  it('works on one key by one worker, once more when it was added meanwhile', async () => {
    const gates: (() => void)[] = [];
    const queue = start(async () => new Promise<void>((resolve) => gates.push(resolve)));
    queue.add('a');
    await settle();
    queue.add('a');
    queue.add('a');
    await settle();
    expect(gates).toHaveLength(1);
    expect(queue.counts).toMatchObject({ active: 1, ready: 0 });
    gates[0]?.();
    await settle();
    expect(gates).toHaveLength(2);
    gates[1]?.();
    await settle();
    expect(gates).toHaveLength(2);
    expect(queue.counts).toMatchObject({ active: 0, done: 2 });
  });

  it('never has more workers than it may', async () => {
    const gates: (() => void)[] = [];
    const queue = start(async () => new Promise<void>((resolve) => gates.push(resolve)), { concurrency: 2 });
    for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
    await settle();
    expect(queue.counts).toMatchObject({ active: 2, ready: 3 });
    gates[0]?.();
    await settle();
    expect(queue.counts).toMatchObject({ active: 2, ready: 2 });
    for (let left = 1; left < 5; left += 1) {
      gates[left]?.();
      await settle();
    }
    expect(queue.counts).toMatchObject({ active: 0, ready: 0, done: 5 });
  });

  it('lets a failing key wait longer each time, others go on, and forgets by a success', async () => {
    const worked: string[] = [];
    let failing = true;
    const worker: Worker = async (key) => {
      worked.push(key);
      if (failing && key === 'bad') throw new Error('no');
    };
    // random 1 is the ceiling of the jitter: 2, 4, 8 seconds.
    const queue = start(worker, { random: () => 1 });
    queue.add('bad');
    queue.add('good');
    await settle();
    expect(worked).toEqual(['bad', 'good']);
    for (const [before, after] of [
      [1_999, 1],
      [3_999, 1],
    ] as const) {
      clock.advance(before);
      await settle();
      const count = worked.length;
      clock.advance(after);
      await settle();
      expect(worked).toHaveLength(count + 1);
    }
    expect(queue.counts).toMatchObject({ failing: 1, failed: 3, delayed: 1 });
    failing = false;
    clock.advance(8_000);
    await settle();
    expect(queue.counts).toMatchObject({ failing: 0, delayed: 0, failed: 3, done: 2 });
    failing = true;
    queue.add('bad');
    await settle();
    clock.advance(2_000);
    await settle();
    expect(queue.counts.failed).toBe(5);
  });

  it('never waits longer than its longest wait, nor less than its shortest', async () => {
    let calls = 0;
    const worker: Worker = async () => {
      calls += 1;
      throw new Error('no');
    };
    const queue = start(worker, { random: () => 1, minBackoffMs: 100, maxBackoffMs: 500 });
    queue.add('a');
    for (let round = 0; round < 60; round += 1) {
      await settle();
      clock.advance(500);
    }
    await settle();
    expect(calls).toBe(61);
  });

  it('waits as long as the API server asks', async () => {
    let calls = 0;
    const queue = start(async () => {
      calls += 1;
      throw new KubeError('busy', { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 60 });
    });
    queue.add('a');
    await settle();
    clock.advance(59_999);
    await settle();
    expect(calls).toBe(1);
    clock.advance(1);
    await settle();
    expect(calls).toBe(2);
  });

  it('requeues when the worker asks for it; the earlier of two wishes counts', async () => {
    const at: number[] = [];
    const begin = clock.now().getTime();
    const queue = start(async () => {
      at.push(clock.now().getTime() - begin);
      return { requeueAfterMs: 5_000 };
    });
    queue.add('a');
    await settle();
    queue.addAfter('a', 9_000);
    queue.addAfter('a', 1_000);
    expect(queue.counts.delayed).toBe(1);
    for (let second = 0; second < 8; second += 1) {
      clock.advance(1_000);
      await settle();
    }
    expect(at).toEqual([0, 1_000, 6_000]);
  });

  it('meets a wish by an earlier add', async () => {
    let calls = 0;
    const queue = start(async () => void (calls += 1));
    queue.addAfter('a', 1_000);
    queue.add('a');
    await settle();
    clock.advance(2_000);
    await settle();
    expect(calls).toBe(1);
    expect(clock.sleeping).toBe(0);
  });

  it('asks no timer for more than a day', async () => {
    const queue = start(async () => undefined);
    queue.addAfter('a', 1_000 * 3_600_000);
    clock.advance(24 * 3_600_000);
    await settle();
    expect(queue.counts).toMatchObject({ delayed: 0, done: 1 });
  });

  it('stops: lets the running worker end, takes nothing more, and leaves no timer', async () => {
    const gate = Promise.withResolvers<void>();
    let ended = false;
    const queue = start(
      async () => {
        await gate.promise;
        ended = true;
        throw new Error('aborted');
      },
      { concurrency: 1 },
    );
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1_000);
    await settle();
    stop.abort();
    await settle();
    expect(ended).toBe(false);
    gate.resolve();
    await running;
    expect(ended).toBe(true);
    queue.add('d');
    queue.addAfter('e', 5);
    expect(clock.sleeping).toBe(0);
    expect(queue.counts).toMatchObject({ active: 0, delayed: 0, done: 0, failed: 0 });
  });
});
