import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CommanderError, type Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandTree } from '../../src/cli/servicectl.ts';
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
