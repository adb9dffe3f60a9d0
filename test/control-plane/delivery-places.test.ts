import { expect, it } from 'vitest';
import { DeliveryPlaces } from '../../src/control-plane/delivery-places.ts';
import { TargetStates } from '../../src/control-plane/target-states.ts';
import { ManualClock } from '../support/manual-clock.ts';

it('keeps places for API servers that work while any number of them fails, and for repositories beside both', () => {
  const places = new DeliveryPlaces();
  const push = (index: number, isFailing: boolean): boolean =>
    places.take(`push/${index}`, { mode: 'push', clusterId: `c-${index}` }, isFailing);
  expect(Array.from({ length: 1000 }, (_, index) => push(index, true)).filter(Boolean)).toHaveLength(128);
  expect(Array.from({ length: 1000 }, (_, index) => push(1000 + index, false)).filter(Boolean)).toHaveLength(384);
  expect(places.take('gitops/r', { mode: 'gitops', repositoryId: 'r' }, true)).toBe(true);
  expect(places.take('pull', { mode: 'pull' }, true)).toBe(true);
  places.leave('push/0');
  expect([push(5000, false), push(5001, false)]).toEqual([true, false]);
});

it('lets what fails alone wait alone, and the target go on', () => {
  const clock = new ManualClock();
  const targets = new TargetStates({ clock, random: () => 0 });
  targets.memberFailed('push/c', 'ApplicationInstance/shop/a');
  expect(targets.waitOf('push/c')).toBe(0);
  expect(targets.isFailing('push/c')).toBe(false);
  expect(targets.waitingMembers('push/c')).toEqual({ members: ['ApplicationInstance/shop/a'], waitMs: 500 });
  expect(targets.waitingMembers('push/d').members).toEqual([]);
  clock.advance(500);
  expect(targets.waitingMembers('push/c').members).toEqual([]);
  targets.memberFailed('push/c', 'ApplicationInstance/shop/a');
  targets.failed('push/c');
  expect(targets.isFailing('push/c')).toBe(true);
  targets.keepOnly(new Set());
  expect([targets.isFailing('push/c'), targets.waitingMembers('push/c').members]).toEqual([false, []]);
});
