import { describe, expect, it } from 'vitest';
import { ProcessSlots } from '../../src/git/embedded-host/process-slots.ts';

const signal = new AbortController().signal;

/** How many of so many claims run at once, how many wait and how many are turned away. */
class Crowd {
  readonly #slots: ProcessSlots;
  readonly running: { readonly key: string; readonly slot: Disposable }[] = [];
  turnedAway = 0;
  asked = 0;

  constructor(deps: ConstructorParameters<typeof ProcessSlots>[0]) {
    this.#slots = new ProcessSlots(deps);
  }

  async ask(key: string, count: number, urgent = false): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      this.asked += 1;
      void this.#slots.acquire({ urgent, key, signal }).then((slot) => {
        if (slot === undefined) this.turnedAway += 1;
        else this.running.push({ key, slot });
      });
    }
    await settled();
  }

  async end(key: string): Promise<void> {
    const index = this.running.findIndex((other) => other.key === key);
    const [ended] = this.running.splice(index, 1);
    ended?.slot[Symbol.dispose]();
    await settled();
  }

  runningOf(key: string): number {
    return this.running.filter((other) => other.key === key).length;
  }

  get waiting(): number {
    return this.asked - this.running.length - this.turnedAway;
  }
}

describe('ProcessSlots', () => {
  it('keep some for what is urgent, however many others there are', async () => {
    const crowd = new Crowd({ limit: 8, maxWaiting: 64, reserved: 2 });
    for (let key = 0; key < 100; key += 1) await crowd.ask(`cluster-${key}`, 1);
    expect([crowd.running.length, crowd.waiting, crowd.turnedAway]).toEqual([6, 64, 30]);
    await crowd.ask('push', 2, true);
    expect(crowd.runningOf('push')).toBe(2);
    await crowd.ask('push', 64, true);
    expect([crowd.runningOf('push'), crowd.waiting, crowd.turnedAway]).toEqual([2, 128, 30]);
    await crowd.end('cluster-0');
    expect(crowd.runningOf('push')).toBe(3);
  });

  it('give one key neither all of them nor the whole queue', async () => {
    const crowd = new Crowd({ limit: 8, maxWaiting: 64, reserved: 2, perKey: 3 });
    await crowd.ask('a', 100);
    expect([crowd.runningOf('a'), crowd.waiting, crowd.turnedAway]).toEqual([3, 16, 81]);
    await crowd.ask('b', 4);
    expect(crowd.runningOf('b')).toBe(3);
    await crowd.end('a');
    // The next that may run is of the key that has room, not the first in the queue of one that has none.
    expect([crowd.runningOf('a'), crowd.runningOf('b')]).toEqual([3, 3]);
    await crowd.end('b');
    expect([crowd.runningOf('a'), crowd.runningOf('b')]).toEqual([3, 3]);
  });
});

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
