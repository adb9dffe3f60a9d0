import { expect, it } from 'vitest';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { anEvent, BatcherRun } from './batcher-run.ts';

const about = (uid: string): AgentEvent => {
  const event = anEvent(uid);
  return { ...event, resourceRef: { ...event.resourceRef, uid } };
};

it('what was said of an object is owed until the control plane has taken it', async () => {
  await using run = new BatcherRun();
  run.answer = () => ({ state: 'retry', message: 'away' });
  run.batcher.enqueue(about('a'));
  expect([run.batcher.owes('a'), run.batcher.owes('b')]).toEqual([true, false]);
  await run.after(1000);
  expect([run.posts, run.batcher.owes('a')]).toEqual([[['a']], true]);
  run.answer = () => ({ state: 'accepted' });
  await run.after(60_000);
  expect([run.posts.at(-1), run.batcher.owes('a')]).toEqual([['a'], false]);
});
