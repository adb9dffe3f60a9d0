import { expect, it } from 'vitest';
import { keepInMemory } from '../support/mode-world/memory-folder.ts';
import { LIMIT_MS, playWorlds, SCHEDULES_OF_A_WORLD, toldOf } from '../support/mode-world/play-worlds.ts';
import { seedsOf } from '../support/mode-world/seeds.ts';

it(
  'M1: whichever program is killed at whichever write, a switch ends with each object, each intent and one writer',
  { timeout: LIMIT_MS },
  async () => {
    keepInMemory();
    const seeds = seedsOf('first');
    const tally = await playWorlds(seeds);
    process.stdout.write(toldOf(seeds, tally));
    expect(tally.schedules).toBe(seeds.length * SCHEDULES_OF_A_WORLD);
    // Neither is the only end.
    if (seeds.length > 1) expect([tally.active > 0, tally.rolledBack > 0]).toEqual([true, true]);
  },
);
