import { ModeWorld } from './mode-world.ts';
import { Fleet } from './fleet.ts';
import { playSchedule } from './play-schedule.ts';
import { drawSchedule, type Schedule } from './schedule.ts';

/** For all of them; what is stuck is found by its schedule's own limit, so this only has to be enough on a loaded machine. */
export const LIMIT_MS = 45 * 60_000;
/** Switches that one world goes through, one after the other. */
export const SCHEDULES_OF_A_WORLD = 20;
const MODES = ['pull', 'gitops', 'push'] as const;
const SEEDS = 1000;
/** Most of a world is waiting. */
const AT_ONCE = 4;

/** What came of worlds that kept every promise. */
export interface Tally {
  schedules: number;
  active: number;
  rolledBack: number;
  kills: number;
}

/** Plays worlds, some at once. @throws Error that says of each that broke a promise which, and its seed */
export async function playWorlds(seeds: readonly number[]): Promise<Tally> {
  const tally: Tally = { schedules: 0, active: 0, rolledBack: 0, kills: 0 };
  const broken: Error[] = [];
  const left = seeds.values();
  const lane = async (): Promise<void> => {
    for (const seed of left) await playWorld(seed, tally).catch((error: unknown) => broken.push(error as Error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  if (broken.length > 0) throw new Error(broken.map(({ message }) => message).join('\n\n'), { cause: broken[0] });
  return tally;
}

/** One line, with the seeds. */
export function toldOf(seeds: readonly number[], tally: Tally): string {
  const { schedules, kills, active, rolledBack } = tally;
  return `MODE_SEED ${seeds.join(' ')}: ${schedules} schedules, ${kills} kills armed; ${active} switches active, ${rolledBack} rolled back\n`;
}

/** One world from a mode of its seed, through its schedules. */
async function playWorld(seed: number, tally: Tally): Promise<void> {
  await using world = await ModeWorld.start({ mode: MODES[seed % 3] ?? 'pull' });
  const fleet = new Fleet(world);
  for (let count = 0; count < 3; count += 1) await fleet.install();
  let mode = MODES[seed % 3] ?? 'pull';
  for (let number = 0; number < SCHEDULES_OF_A_WORLD; number += 1) {
    const schedule = drawSchedule(seed * SEEDS + number, mode);
    try {
      const played = await playSchedule(world, fleet, schedule);
      ({ mode } = played);
      count(tally, schedule, played.ends);
    } catch (error) {
      const drawn = JSON.stringify(schedule, null, 1);
      const message = `MODE_SEED=${seed} replays it: schedule ${schedule.seed}, from ${mode}\n${(error as Error).message}\n${drawn}`;
      throw new Error(message, { cause: error });
    }
  }
}

function count(tally: Tally, schedule: Schedule, ends: readonly string[]): void {
  tally.schedules += 1;
  tally.kills += schedule.planeKills.length + schedule.operatorKills.length;
  tally.active += ends.filter((end) => end === 'active').length;
  tally.rolledBack += ends.filter((end) => end === 'rolled-back').length;
}
