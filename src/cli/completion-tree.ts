import type { Argument, Command, Option } from 'commander';

/** What can stand somewhere: words that are known, or what has to be looked up when it is asked for. */
export type Values = { readonly words: readonly string[] } | { readonly kind: ValueKind } | undefined;

/** `files` the shell knows itself; the others are asked of `servicectl __complete`. */
export type ValueKind = 'files' | 'clusters' | 'contexts' | 'catalog' | 'templates' | 'repositories';

export interface CompletedOption {
  /** `-o` and `--output`, as far as it has them. */
  readonly names: readonly string[];
  readonly takesValue: boolean;
  readonly values: Values;
  readonly isHidden: boolean;
  readonly description: string;
}

/** A command as a shell completes it. */
export interface CompletedCommand {
  /** Each way to type it, without the program's name: `clusters show` and `clusters get`. */
  readonly paths: readonly string[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly arguments: readonly Values[];
}

/** All commands of a program, the program itself first. */
export function completedCommands(program: Command): readonly CompletedCommand[] {
  return under(program, ['']);
}

function under(command: Command, paths: readonly string[]): readonly CompletedCommand[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
  const own: CompletedCommand = {
    paths,
    commands: children.flatMap((child) =>
      namesOf(child).map((name) => ({ name, description: firstSentence(child.description()) })),
    ),
    options: command.options.map(completedOption),
    arguments: command.registeredArguments.map((argument) => argumentValues(argument, paths[0] ?? '')),
  };
  const below = children.flatMap((child) => {
    const names = namesOf(child);
    return under(
      child,
      paths.flatMap((path) => names.map((name) => (path === '' ? name : `${path} ${name}`))),
    );
  });
  return [own, ...below];
}

function namesOf(command: Command): readonly string[] {
  return [command.name(), ...command.aliases()];
}

function completedOption(option: Option): CompletedOption {
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    takesValue: option.required || option.optional,
    values: optionValues(option),
    isHidden: option.hidden,
    description: firstSentence(option.description),
  };
}

const OPTION_KINDS: Readonly<Record<string, ValueKind>> = {
  '--cluster': 'clusters',
  '--context': 'contexts',
  '--entry': 'catalog',
  '--repository': 'repositories',
};

function optionValues({ argChoices, flags, long = '' }: Option): Values {
  if (argChoices !== undefined) return { words: argChoices };
  if (/<file>/.test(flags)) return { kind: 'files' };
  const kind = OPTION_KINDS[long];
  return kind === undefined ? undefined : { kind };
}

const ARGUMENT_KINDS: Readonly<Record<string, ValueKind>> = {
  cluster: 'clusters',
  context: 'contexts',
  entry: 'catalog',
  template: 'templates',
  file: 'files',
};
/** Where an argument is called `name`, of what it is one. */
const NAMES: Readonly<Record<string, ValueKind>> = { contexts: 'contexts', repositories: 'repositories' };

function argumentValues(argument: Argument, path: string): Values {
  if (argument.argChoices !== undefined) return { words: argument.argChoices };
  const name = argument.name();
  const kind = ARGUMENT_KINDS[name] ?? (name === 'name' ? NAMES[path.split(' ')[0] ?? ''] : undefined);
  return kind === undefined ? undefined : { kind };
}

function firstSentence(text: string): string {
  return text.split(/[;:(]/, 1)[0]?.trim() ?? '';
}
