import { Argument, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { addOutput, print, type OutputOptions } from './output.ts';

interface Moved {
  readonly from: string;
  readonly to: string;
  readonly state: 'planned' | 'unchanged' | 'moving' | 'moved';
  readonly directories: number;
  readonly collisions?: readonly string[];
}

interface MoveOptions extends ConnectionOptions, OutputOptions {
  readonly dryRun?: boolean;
}

/** A repository of thousands of clusters. */
const TIMEOUT_MS = 90_000;

/** `servicectl repositories move-layout` */
export function addMoveLayoutCommand(program: Command, deps: CliDeps): void {
  const repositories =
    program.commands.find((command) => command.name() === 'repositories') ??
    program.command('repositories').description('the Git repositories of your organization');
  addOutput(withConnection(repositories.command('move-layout')))
    .argument('<name>', 'of the repository')
    .addArgument(new Argument('<layout>', 'the new one').choices(['flat', 'sharded']))
    .option('--dry-run', 'says what it would do, and what is in the way')
    .description(
      "moves every cluster's directory to its place in the other layout, in one commit that changes nothing in them",
    )
    .action(async (name: string, layout: string, { output, dryRun = false, ...options }: MoveOptions) => {
      const path = `/repositories/${encodeURIComponent(name)}/layout`;
      const connection = { ...options, timeoutMs: TIMEOUT_MS };
      const moved = await callControlPlane<Moved>(connection, deps, 'POST', path, { layout, dryRun });
      print(deps, { output }, { item: moved, text: () => inWords(name, moved), nameOf: () => name });
    });
}

function inWords(name: string, { state, to, directories, collisions = [] }: Moved): string {
  switch (state) {
    case 'planned': {
      const ways = collisions.map((text) => `  in the way: ${text}\n`).join('');
      return `${name}: ${inNumber(directories)} would be moved to the ${to} layout\n${ways}`;
    }
    case 'unchanged':
      return `${name}: has the ${to} layout\n`;
    case 'moving':
      return `${name}: is being moved to the ${to} layout; the same command says when it is done\n`;
    case 'moved':
      return `${name}: ${inNumber(directories)} ${directories === 1 ? 'was' : 'were'} moved to the ${to} layout\n`;
  }
}

function inNumber(directories: number): string {
  return directories === 1 ? '1 directory' : `${directories} directories`;
}
