import { expect, it } from 'vitest';
import { TwoLanes } from '../../../src/control-plane/store/two-lanes.ts';

it('takes urgent ones first, each lane in its order, and an ordinary one after eight urgent ones', () => {
  const lanes = new TwoLanes<string>(100);
  for (const item of ['o1', 'o2', 'o3']) lanes.push(item, false);
  for (let index = 1; index <= 17; index += 1) lanes.push(`u${index}`, true);
  const taken = Array.from({ length: 21 }, () => lanes.shift());
  const urgent = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => `u${from + index}`);
  expect(taken).toEqual([...urgent(1, 8), 'o1', ...urgent(9, 16), 'o2', 'u17', 'o3', undefined]);
});

it('counts each lane for itself: a flood of ordinary ones leaves room for urgent ones', () => {
  const lanes = new TwoLanes<number>(2);
  lanes.push(1, false);
  lanes.push(2, false);
  expect([lanes.isFull(false), lanes.isFull(true), lanes.length]).toEqual([true, false, 2]);
  lanes.push(3, true);
  expect(lanes.takeAll()).toEqual([3, 1, 2]);
  expect(lanes.length).toBe(0);
});
