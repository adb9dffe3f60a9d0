import { expect, it } from 'vitest';
import { playWorlds, SCHEDULES_OF_A_WORLD } from '../support/mode-world/play-worlds.ts';

const WORLDS = 13;
/** `MODE_SEED=7` plays that world alone, `MODE_WORLDS=100` so many; `m1-more-random-kills` plays the other half. */
const { MODE_SEED: seed, MODE_WORLDS: worlds = String(WORLDS) } = process.env;

it(
  'M1: whichever program is killed at whichever write, a switch ends with each object, each intent and one writer',
  { timeout: 600_000 },
  async () => {
    const seeds = seed === undefined ? Array.from({ length: Number(worlds) }, (_, index) => index) : [Number(seed)];
    const tally = await playWorlds(seeds, 3);
    const { schedules, active, rolledBack, kills } = tally;
    process.stdout.write(
      `worlds ${seeds.at(0)} to ${seeds.at(-1)}: ${schedules} schedules, ${kills} kills armed; ${active} switches active, ${rolledBack} rolled back\n`,
    );
    expect(schedules).toBe(seeds.length * SCHEDULES_OF_A_WORLD);
    // Neither is the only end.
    if (seed === undefined) expect([active > 0, rolledBack > 0]).toEqual([true, true]);
  },
);
