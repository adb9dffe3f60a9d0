import { Argument, type Command } from 'commander';
import { readConfig } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { bashCompletion, zshCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { completedCommands, type ValueKind } from './completion-tree.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
/** A person has pressed a key and waits. */
const TIMEOUT_MS = 2000;
const MAX_NAMES = 100;
/** Nothing else is offered: a shell may carry out what it is told. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;

type Named = { readonly slug: string } | { readonly name: string };

const LISTS: Readonly<Record<Exclude<ValueKind, 'files' | 'contexts'>, string>> = {
  clusters: `/clusters?fields=summary&limit=${MAX_NAMES}`,
  catalog: `/catalog?limit=${MAX_NAMES}`,
  templates: '/operation-templates',
  repositories: `/repositories?limit=${MAX_NAMES}`,
};

/** `servicectl completion bash|zsh|fish`, and the hidden command that their scripts look names up by. */
export function addCompletionCommands(program: Command, deps: CliDeps): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'that it is for').choices(Object.keys(SHELLS)))
    .description('prints what completes commands, options and names in a shell; see docs/cli.md')
    .action((shell: keyof typeof SHELLS) => deps.out(SHELLS[shell](completedCommands(program))));

  withConnection(program.command('__complete', { hidden: true }))
    .argument('<kind>')
    .argument('[beginning]')
    .action(async (kind: string, beginning: string | undefined, options: ConnectionOptions) => {
      // Whatever is wrong, a command that is run says it; here there is nothing to complete.
      const names = await namesOf(kind, beginning ?? '', options, deps).catch(() => []);
      for (const name of names) if (NAME.test(name) && name.startsWith(beginning ?? '')) deps.out(`${name}\n`);
    });
}

async function namesOf(
  kind: string,
  beginning: string,
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<readonly string[]> {
  if (kind === 'contexts') return Object.keys(readConfig(deps).contexts);
  const list = Object.entries(LISTS).find(([name]) => name === kind)?.[1];
  if (list === undefined) return [];
  const search = kind === 'clusters' && beginning !== '' ? `&q=${encodeURIComponent(beginning)}` : '';
  const short = { ...options, timeoutMs: TIMEOUT_MS, requestTimeout: TIMEOUT_MS / 1000 };
  const quiet = { ...deps, err: () => undefined };
  const { items } = await callControlPlane<{ readonly items: readonly Named[] }>(
    short,
    quiet,
    'GET',
    `${list}${search}`,
  );
  return items.map((item) => ('slug' in item ? item.slug : item.name));
}
