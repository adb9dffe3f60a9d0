import { expect, it } from 'vitest';
import { keepInMemory } from '../support/mode-world/memory-folder.ts';
import { LIMIT_MS, playWorlds, SCHEDULES_OF_A_WORLD, toldOf } from '../support/mode-world/play-worlds.ts';
import { seedsOf } from '../support/mode-world/seeds.ts';

/** The other half beside `m1-random-kills.test.ts`, so that two cores share the work. */
it('M1: by as many more schedules of kills, too', { timeout: LIMIT_MS }, async () => {
  keepInMemory();
  const seeds = seedsOf('second');
  const tally = await playWorlds(seeds);
  process.stdout.write(toldOf(seeds, tally));
  expect(tally.schedules).toBe(seeds.length * SCHEDULES_OF_A_WORLD);
});
