import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { Follower } from './follow.ts';

let plane: RunningControlPlane;
let clusterId: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

test('tells of an intent and of what becomes of it, without saying what it is', async () => {
  await using follower = await Follower.open(plane, '?resource=intents');
  expect(follower.status).toBe(200);
  expect(follower.headers.get('content-type')).toBe('text/event-stream');
  expect(await follower.next()).toEqual({ event: 'comment', id: expect.any(Number) });
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  const [accepted, delivered] = await follower.changes(2);
  const data = { resource: 'intents', id: body['id'], clusterId };
  expect(accepted).toEqual({ event: 'change', id: expect.any(Number), data });
  expect(delivered).toEqual({ event: 'change', id: expect.any(Number), data });
  expect(delivered?.id).toBeGreaterThan(accepted?.id ?? Infinity);
});
