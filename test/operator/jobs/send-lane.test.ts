import { describe, expect, it } from 'vitest';
import { SendLane, type SendOutcome } from '../../../src/operator/jobs/send-lane.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const logger = createLogger('test', 'silent');
const failed: SendOutcome = { state: 'retry', message: 'no' };

class LaneRun implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly sent: string[] = [];
  readonly lane: SendLane;
  answer: (key: string) => SendOutcome = () => ({ state: 'done' });
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor() {
    const { clock } = this;
    this.lane = new SendLane({
      name: 'test',
      clock,
      random: () => 0,
      logger,
      send: async (key) => {
        this.sent.push(`${key}@${(clock.now().getTime() - Date.parse('2026-03-01T10:00:00.000Z')) / 1000}`);
        return this.answer(key);
      },
    });
    this.#ended = this.lane.run(this.#stop.signal);
  }

  /** Second by second, each after all that the one before it set going. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await this.settle();
      this.clock.advance(1000);
    }
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

describe('a lane to the control plane', () => {
  it('is not held up by one key that is never taken', async () => {
    await using run = new LaneRun();
    run.answer = (key) => (key === 'bad' ? failed : { state: 'done' });
    run.lane.add('bad');
    await run.pass(1);
    for (const key of ['a', 'b', 'c']) run.lane.add(key);
    await run.settle();
    expect(run.sent.slice(-4).map((sent) => sent.split('@')[0])).toEqual(expect.arrayContaining(['a', 'b', 'c']));
  });

  it('knocks with one key a second at most while nothing is taken, and goes on at once when something is', async () => {
    await using run = new LaneRun();
    run.answer = () => failed;
    for (let key = 0; key < 40; key += 1) run.lane.add(`k${key}`);
    await run.settle();
    const first = run.sent.length;
    expect(first).toBeLessThanOrEqual(8);
    await run.pass(10);
    expect(run.sent.length - first).toBeLessThanOrEqual(10);
    run.answer = () => ({ state: 'done' });
    await run.pass(3);
    expect(new Set(run.sent.map((sent) => sent.split('@')[0])).size).toBe(40);
  });

  it('waits for Retry-After, whatever else comes', async () => {
    await using run = new LaneRun();
    run.answer = () => ({ ...failed, afterMs: 5000 });
    run.lane.add('a');
    await run.settle();
    run.answer = () => ({ state: 'done' });
    run.lane.add('b');
    await run.pass(4);
    expect(run.sent).toEqual(['a@0']);
    await run.pass(1);
    expect(run.sent.toSorted()).toEqual(['a@0', 'a@5', 'b@5']);
  });

  it('sends a key that is added while it is sent once more, and never twice at a time', async () => {
    await using run = new LaneRun();
    run.answer = (key) => {
      if (run.sent.length === 1) run.lane.add(key);
      return { state: 'done' };
    };
    run.lane.add('a');
    await run.settle();
    expect(run.sent).toEqual(['a@0', 'a@0']);
  });
});
