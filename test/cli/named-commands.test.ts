import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';

const ROOT = join(import.meta.dirname, '../..');
const FILES = globSync(
  ['src/**/*.ts', 'templates/**/*', 'crds/**/*.yaml', 'docs/**/*.md', 'examples/**/*', 'README.md'],
  {
    cwd: ROOT,
    withFileTypes: true,
  },
).filter((entry) => entry.isFile());

/** Behind the program's name in prose. */
const PROSE = ['is', 'as', 'and', 'in', 'of', 'service-control-plane'];

async function helpOf(words: readonly string[]): Promise<string> {
  let said = '';
  const say = (text: string): void => void (said += text);
  await servicectl([...words, '--help'], { env: {}, out: say, err: say });
  return said;
}

/** Whether there is such a command; of words that follow a command with arguments only it itself is looked at. */
async function exists(words: readonly string[]): Promise<boolean> {
  const [, usage = ''] = /^Usage: servicectl (.*)$/m.exec(await helpOf(words)) ?? [];
  // A command with two names is told by the first: `clusters show|get`.
  const known = usage
    .replace(/ ?\[options\].*$/, '')
    .split(' ')
    .map((word, place) => word.split('|').find((name) => name === words[place]) ?? word);
  if (known.join(' ') === words.join(' ')) return true;
  return words.join(' ').startsWith(known.join(' ')) && known[0] !== '' && !usage.includes('[command]');
}

it('names to people only commands that servicectl has', { timeout: 60_000 }, async () => {
  const named = new Map<string, string>();
  for (const { parentPath, name } of FILES) {
    const text = readFileSync(join(parentPath, name), 'utf8');
    for (const [, words = ''] of text.matchAll(/\bservicectl((?: [a-z][a-z-]*){1,3})/g)) {
      if (!PROSE.includes(words.trim().split(' ')[0] ?? '')) named.set(words.trim(), name);
    }
  }
  const wrong: string[] = [];
  for (const [words, file] of named) if (!(await exists(words.split(' ')))) wrong.push(`${file}: servicectl ${words}`);
  expect(wrong).toEqual([]);
  expect([named.has('clusters install-command'), await exists(['operator', 'install'])]).toEqual([true, false]);
});
