import type { CliDeps } from './cli-deps.ts';

/** What a colour says; without colours the words say it alone. */
export type Tone = 'good' | 'bad' | 'warning' | 'dim' | 'bold';

const CODES: Readonly<Record<Tone, number>> = { good: 32, bad: 31, warning: 33, dim: 2, bold: 1 };

export type Paint = (tone: Tone | undefined, text: string) => string;

/** Paints in a terminal alone, unless `--color` or `NO_COLOR` (https://no-color.org) says otherwise. */
export function paintOf({ isColoured }: Pick<CliDeps, 'isColoured'>): Paint {
  if (isColoured !== true) return (_, text) => text;
  return (tone, text) => (tone === undefined || text === '' ? text : `\u001b[${CODES[tone]}m${text}\u001b[0m`);
}

const TONES: Readonly<Record<Exclude<Tone, 'bold'>, string>> = {
  good: 'true active ready healthy ok succeeded merged approved applied',
  bad: 'false failed degraded unreachable rejected expired revoked timedout rolled-back missing',
  warning: 'pending progressing open waiting disabled running failing pendingapproval blocked rolling-back merging',
  dim: 'unknown - superseded cancelled withdrawn retired skipped',
};

const TONE_OF = new Map(
  Object.entries(TONES).flatMap(([tone, words]) => words.split(' ').map((word) => [word, tone as Tone] as const)),
);

/** The tone of a state, health or status of a condition; of other words there is none. */
export function toneOf(word: string): Tone | undefined {
  return TONE_OF.get(word.toLowerCase());
}

/** What `--color` and the surroundings make of it. */
export function isColoured(
  when: 'auto' | 'always' | 'never',
  { isTerminal, env }: Pick<CliDeps, 'isTerminal' | 'env'>,
): boolean {
  if (when !== 'auto') return when === 'always';
  const says = (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  return isTerminal === true && says;
}
