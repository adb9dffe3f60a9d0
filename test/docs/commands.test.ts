import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CommanderError, type Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandTree } from '../../src/cli/servicectl.ts';
import { ERROR_CODES } from '../../src/protocol/error-codes.ts';
import { REASON_REMEDIES } from '../../src/resources/reason-remedies.ts';
import { commandsOf, shellBlocks, type FencedCommand } from './fenced-commands.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const DOCUMENTS = ['README.md', ...globSync('{docs,examples}/**/*.md', { cwd: ROOT })].sort();
const BLOCKS = DOCUMENTS.flatMap((document) => shellBlocks(document, readFileSync(join(ROOT, document), 'utf8')));
const COMMANDS = BLOCKS.flatMap(commandsOf);

const titled = (commands: readonly FencedCommand[]): [string, FencedCommand][] =>
  commands.map((command) => [`${command.document}:${command.line} ${command.words.join(' ')}`.slice(0, 160), command]);
const ofProgram = (...names: string[]): FencedCommand[] =>
  COMMANDS.filter(({ words: [name = ''] }) => names.includes(name));

const SERVICECTL = ofProgram('servicectl').filter(({ words }) => words.length > 1);

/** The program's own tree, where no command does anything. */
function inertTree(said: string[]): Command {
  const deps = { env: {}, out: (text: string) => void said.push(text), err: (text: string) => void said.push(text) };
  const tree = commandTree(deps);
  const disarm = (command: Command): void => {
    if (command.commands.length === 0) command.action(() => undefined);
    command.exitOverride((error) => {
      throw error;
    });
    command.commands.forEach(disarm);
  };
  disarm(tree);
  return tree;
}

describe('every block of a shell in the documents', () => {
  it.concurrent.each(BLOCKS.map((block) => [`${block.document}:${block.line}`, block] as const))(
    '%s is one that bash can read',
    async (_, { text }) => {
      await expect(run('bash', ['-n', '-c', text], { timeout: 20_000 })).resolves.toMatchObject({ stderr: '' });
    },
  );
});

describe('every servicectl in them', () => {
  it('is looked for', () => {
    expect(SERVICECTL.length).toBeGreaterThan(100);
  });

  it.each(titled(SERVICECTL))('%s is a command line that the program takes', async (_, { words }) => {
    const said: string[] = [];
    const outcome = inertTree(said).parseAsync(words.slice(1), { from: 'user' });
    const code = await outcome.then(
      () => 0,
      (error: unknown) => (error instanceof CommanderError ? error.exitCode : said.push(String(error))),
    );
    expect({ code, said: code === 0 ? [] : said }).toEqual({ code: 0, said: [] });
  });
});

it.each(titled(ofProgram('node')))('%s is a file that is there', (_, { words }) => {
  const file = words.find((word) => /\.[jt]s$/.test(word));
  expect(file === undefined || file.startsWith('$') || existsSync(join(ROOT, file))).toBe(true);
});

/** What is told to type in passing: `servicectl …` in a sentence of a document, or in what is told to do about a fault. */
const MENTIONS: [string, string][] = [
  ...DOCUMENTS.map((document) => [document, readFileSync(join(ROOT, document), 'utf8')] as const),
  ...Object.entries(REASON_REMEDIES),
  ...Object.entries(ERROR_CODES).map(([code, { remedy }]) => [code, remedy] as const),
].flatMap(([where, text]) =>
  [...text.matchAll(/`servicectl ([^`…\n][^`\n]*)`/g)].map(([, said = '']): [string, string] => [where, said]),
);

/** The first word of a command line that names no command, or no option, where it has to; undefined where each does. */
function unknownWord(said: string): string | undefined {
  const [words = []] = commandsOf({ document: said, line: 1, text: `servicectl ${said.replaceAll('\\|', '|')}` }).map(
    (command) => command.words,
  );
  const path = [inertTree([])];
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const { commands = [], options = [] } = path.at(-1) ?? {};
    if (commands.length === 0) break;
    if (word.startsWith('-')) {
      // Its value names no command.
      if (options.find(({ long }) => long === word)?.required === true) at += 1;
      continue;
    }
    const next = commands.find((child) => [child.name(), ...child.aliases()].includes(word));
    if (next === undefined) return word;
    path.push(next);
  }
  // A group is its list where no other of its commands is named.
  path.push(...(path.at(-1)?.commands.filter((child) => child.name() === 'list') ?? []));
  const options = path.flatMap((command) => command.options.map(({ long }) => long));
  return words.find((word) => word.startsWith('--') && word !== '--help' && !options.includes(word.replace(/=.*/, '')));
}

it('tells nobody to type a command that there is not', () => {
  expect(MENTIONS.length).toBeGreaterThan(100);
  expect(MENTIONS.filter(([, said]) => unknownWord(said) !== undefined)).toEqual([]);
});
