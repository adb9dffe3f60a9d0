import { expect, it } from 'vitest';
import { findCondition } from '../../src/resources/conditions.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { ProxiedPolls } from './proxied-polls.ts';

const WAIT_SECONDS = 2;
const MARGIN_MS = 500;

it('A4: a poll that a proxy drops silently is found within its wait and a margin; its late end changes nothing', async () => {
  await using run = await ProxiedPolls.start({ longestWaitSeconds: WAIT_SECONDS, answerTimeoutMs: MARGIN_MS });
  const { plane, proxy, clusterId } = run;
  // Not held: it tells at once whether the control plane is there.
  expect((await proxy.next()).wait).toBe(0);
  const dead = await proxy.next();
  dead.silence();
  const from = performance.now();
  const alive = await proxy.next();
  const tookMs = performance.now() - from;
  expect(tookMs).toBeGreaterThan(WAIT_SECONDS * 1000);
  // Timers of the HTTP client are exact to a second.
  expect(tookMs).toBeLessThan(WAIT_SECONDS * 1000 + MARGIN_MS + 2000);
  expect(alive.wait).toBe(WAIT_SECONDS);

  // Only now the proxy tells of the old one, between the new session and its job.
  dead.end();
  await plane.call('POST', `/clusters/${clusterId}/intents`, INSTALL);
  await expect.poll(() => run.taken.length, { timeout: 10_000, interval: 5 }).toBe(1);
  const { body } = await plane.call('GET', `/clusters/${clusterId}`);
  expect(findCondition(body['conditions'], 'Connected')?.status).toBe('True');
  expect(run.contacts).toEqual(['connected']);
});
