/** With 20 schedules each: 500. */
const WORLDS = 25;

/**
 * The seeds of one of two halves: those of `MODE_WORLDS` worlds, or the one of `MODE_SEED`, which the half it belongs to
 * replays alone.
 */
export function seedsOf(half: 'first' | 'second'): number[] {
  const { MODE_SEED: one, MODE_WORLDS: worlds = String(WORLDS) } = process.env;
  const isOurs = (seed: number): boolean => (seed % 2 === 0) === (half === 'first');
  const seeds = one === undefined ? Array.from({ length: Number(worlds) }, (_, index) => index) : [Number(one)];
  return seeds.filter(isOurs);
}
