import { describe, expect, it } from 'vitest';
import type { PostOutcome } from '../../../src/events/report/event-batcher.ts';
import { anEvent, BatcherRun } from './batcher-run.ts';

describe('a batch', () => {
  it('is posted when its time is over, with all that came meanwhile', async () => {
    await using run = new BatcherRun();
    run.add('a');
    await run.after(999);
    run.add('b');
    expect(run.posts).toEqual([]);
    await run.after(1);
    expect(run.posts).toEqual([['a', 'b']]);
  });

  it('is posted at once when it is full, and no empty one follows', async () => {
    await using run = new BatcherRun();
    run.batch = { size: 2, ms: 1000 };
    run.add('a', 'b', 'c');
    await run.rest();
    expect(run.posts).toEqual([['a', 'b']]);
    await run.after(1000);
    expect(run.posts).toEqual([['a', 'b'], ['c']]);
    await run.after(100_000);
    expect(run.posts).toHaveLength(2);
  });

  it('follows an interval that was changed meanwhile', async () => {
    await using run = new BatcherRun();
    run.add('a');
    await run.after(20);
    expect(run.posts).toEqual([]);
    run.batch = { size: 100, ms: 20 };
    run.batcher.intervalChanged();
    await run.rest();
    expect(run.posts).toEqual([['a']]);
  });

  it('is sent again in order, under the same keys and numbers, and not sooner than a second later', async () => {
    await using run = new BatcherRun();
    const answers: PostOutcome[] = [
      { state: 'retry', message: 'no answer' },
      { state: 'retry', message: 'later', afterMs: 7000 },
    ];
    run.answer = () => answers.shift() ?? { state: 'accepted' };
    run.add('a', 'b');
    await run.after(1000);
    run.add('c');
    await run.after(999);
    expect(run.posts).toHaveLength(1);
    await run.after(1);
    expect(run.posts).toHaveLength(2);
    await run.after(6999);
    expect(run.posts).toHaveLength(2);
    await run.after(1);
    expect(run.posts.at(-1)).toEqual(['a', 'b', 'c']);
    expect(run.sent.map(({ eventKey, sequence }) => [eventKey, sequence])).toEqual([
      ['key-a', '1.0'],
      ['key-b', '1.1'],
      ['key-c', '1.2'],
    ]);
  });

  it('loses only the event that the control plane names', async () => {
    await using run = new BatcherRun();
    run.answer = (events) => {
      const index = events.findIndex(({ eventKey }) => eventKey === 'key-bad');
      return index === -1 ? { state: 'accepted' } : { state: 'rejected', tooLarge: false, index, message: 'bad' };
    };
    run.add('a', 'bad', 'b');
    await run.after(1000);
    expect(run.sent.map(({ eventKey }) => eventKey)).toEqual(['key-a', 'key-b']);
    expect({ drops: run.drops, left: run.batcher.size }).toEqual({ drops: [1], left: 0 });
  });

  it('is halved until the bad event is alone when nobody names it', async () => {
    await using run = new BatcherRun();
    run.answer = (events) =>
      events.some(({ eventKey }) => eventKey === 'key-bad')
        ? { state: 'rejected', tooLarge: false, message: 'something is bad' }
        : { state: 'accepted' };
    run.add('a', 'b', 'c', 'bad', 'd', 'e');
    await run.after(1000);
    expect(run.sent.map(({ eventKey }) => eventKey)).toEqual(['key-a', 'key-b', 'key-c', 'key-d', 'key-e']);
    expect(run.drops).toEqual([1]);
  });

  it('is halved when it is too large, and an event that is too large alone is dropped for good', async () => {
    await using run = new BatcherRun();
    run.answer = (events) =>
      events.length > 2 || events.some(({ eventKey }) => eventKey === 'key-huge')
        ? { state: 'rejected', tooLarge: true, message: 'too large' }
        : { state: 'accepted' };
    run.add('a', 'b', 'c', 'huge');
    await run.after(1000);
    expect(run.sent.map(({ eventKey }) => eventKey)).toEqual(['key-a', 'key-b', 'key-c']);
    expect(run.drops).toEqual([1]);
  });

  it('stays under a mebibyte', async () => {
    await using run = new BatcherRun();
    for (let index = 0; index < 60; index += 1) {
      const message = 'x'.repeat(32_000);
      run.batcher.enqueue(anEvent(`e${index}`, { conditions: [{ type: 'Ready', status: 'False', message }] }));
    }
    run.batch = { size: 60, ms: 1000 };
    await run.rest();
    await run.after(1000);
    expect(run.sent).toHaveLength(60);
    expect(run.posts.map((names) => names.length)).toEqual([32, 28]);
  });

  it('waits for a number that can be persisted', async () => {
    await using run = new BatcherRun();
    let failing = true;
    run.sequence = () => {
      if (failing) throw new Error('the API server is away');
      return '1.7';
    };
    run.add('a');
    await run.after(1000);
    expect(run.posts).toEqual([]);
    failing = false;
    await run.after(2000);
    await run.after(2000);
    expect(run.sent.map(({ sequence }) => sequence)).toEqual(['1.7']);
  });
});

describe('a full buffer', () => {
  it('drops the oldest, counts, and asks for a snapshot once it has drained', async () => {
    await using run = new BatcherRun({ capacity: 3 });
    let online = false;
    run.answer = () => (online ? { state: 'accepted' } : { state: 'retry', message: 'away' });
    run.add('a', 'b', 'c');
    await run.after(1000);
    run.add('d', 'e');
    expect({ drops: run.drops, drained: run.drained }).toEqual({ drops: [1, 2], drained: 0 });
    online = true;
    await run.after(30_000);
    expect(run.sent.map(({ eventKey }) => eventKey)).toEqual(['key-c', 'key-d', 'key-e']);
    expect(run.drained).toBe(1);
    run.add('f');
    await run.after(1000);
    expect(run.drained).toBe(1);
  });

  it('neither holds a heartbeat nor drops one: the latest rides along', async () => {
    await using run = new BatcherRun({ capacity: 1 });
    let online = false;
    run.answer = () => (online ? { state: 'accepted' } : { state: 'retry', message: 'away' });
    run.batcher.beat(anEvent('beat-1', { kind: 'ClusterHeartbeat' }));
    await run.after(1000);
    run.add('a', 'b');
    run.batcher.beat(anEvent('beat-2', { kind: 'ClusterHeartbeat' }));
    online = true;
    await run.after(30_000);
    expect(run.sent.map(({ eventKey }) => eventKey)).toEqual(['key-b', 'key-beat-2']);
    expect(run.batcher.size).toBe(0);
  });
});

describe('the end', () => {
  it('posts what is left once, and gives up where nobody answers', async () => {
    const run = new BatcherRun();
    run.add('a');
    await run.rest();
    await run[Symbol.asyncDispose]();
    await run.batcher.drain(new AbortController().signal);
    expect(run.posts).toEqual([['a']]);
    run.answer = () => ({ state: 'retry', message: 'away' });
    run.add('b');
    await run.batcher.drain(new AbortController().signal);
    expect({ posts: run.posts.length, left: run.batcher.size }).toEqual({ posts: 2, left: 1 });
  });

  it('comes without a post while the control plane has asked for patience', async () => {
    const run = new BatcherRun();
    run.answer = () => ({ state: 'retry', message: 'slow down', afterMs: 20_000 });
    run.add('a');
    await run.after(1000);
    await run[Symbol.asyncDispose]();
    await run.batcher.drain(new AbortController().signal);
    expect(run.posts).toEqual([['a']]);
    run.clock.advance(20_000);
    await run.batcher.drain(new AbortController().signal);
    expect(run.posts).toEqual([['a'], ['a']]);
  });
});
