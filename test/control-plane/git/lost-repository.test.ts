import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LookingClock } from '../../support/looking-clock.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let clock: LookingClock;
let plane: RunningControlPlane;
beforeEach(async () => {
  clock = new LookingClock();
  plane = await RunningControlPlane.start(clock);
  await plane.putPodinfo();
});
afterEach(async () => await plane[Symbol.asyncDispose]());

it('makes a hosted repository anew that was removed while it ran, and delivers again what it held', async () => {
  const cluster = await plane.newCluster('prod-eu');
  const install = async (name: string): Promise<string> => {
    const { body } = await plane.call('POST', `/clusters/${cluster}/intents`, { ...INSTALL, name });
    await plane.until(String(body['id']), 'delivered');
    return String(body['id']);
  };
  const first = await install('first');
  await rm(join(plane.folder, 'git', 'fleet.git'), { recursive: true });
  const second = await install('second');
  await vi.waitFor(
    async () => {
      clock.look();
      expect((await plane.committedIntents()).toSorted()).toEqual([first, second].toSorted());
    },
    { timeout: 10_000, interval: 50 },
  );
}, 90_000);
