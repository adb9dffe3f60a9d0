import type { Argument, Command, Option } from 'commander';
import { CONNECTION_OPTIONS } from '../../src/cli/connection.ts';
import { commandTree } from '../../src/cli/servicectl.ts';
import { CONTROL_PLANE_PROGRAM } from '../../src/control-plane/program.ts';
import { OPERATOR_PROGRAM } from '../../src/operator/program.ts';
import { REGISTER_HELP } from '../../src/operator/register-command.ts';
import { answerArguments, type ProgramDescription } from '../../src/runtime/program-arguments.ts';
import { code, list, parts, prose, sentence } from './markdown.ts';

const SILENT = { env: {}, out: () => undefined, err: () => undefined };

/** Every command of servicectl with its arguments and options, and what the two programs take. */
export function cliPage(): string {
  const program = commandTree(SILENT);
  const commands = leavesOf(program);
  const connection = commands.flatMap(({ options }) => options).filter(isOfConnection);
  const common = new Map([...program.options, ...connection].map((option) => [option.long, option]));
  return parts(
    '# Command line',
    'What each command of `servicectl` takes, as its own `--help` says it; [cli.md](../cli.md) says how they are used together.',
    '## Options of every command',
    'They stand before a command or behind it. Those of the connection (`--server` to `--request-timeout`) are for commands that call the control plane by them.',
    list([...common.values()].map(optionItem)),
    'Exit status: 0 done; 1 refused, no answer, or `diff` found a difference; 2 a command line that cannot be used; 3 `apps`: not yet when the time was up.',
    ...groupsOf(program).flatMap(({ name, description, members }) => [
      `## servicectl ${name}`,
      sentence(prose(capital(description))),
      ...members.map((command) =>
        section(command, members[0] === command && wordsOf(command) === `servicectl ${name}`),
      ),
    ]),
    ...[CONTROL_PLANE_PROGRAM, OPERATOR_PROGRAM].map(programSection),
    '## service-operator register',
    fenced(REGISTER_HELP),
  );
}

interface Group {
  readonly name: string;
  readonly description: string;
  readonly members: readonly Command[];
}

function groupsOf(program: Command): Group[] {
  return visible(program).map((command) => ({
    name: command.name(),
    description: command.description(),
    members: leavesOf(command),
  }));
}

function leavesOf(command: Command): Command[] {
  const children = visible(command);
  return children.length === 0 ? [command] : children.flatMap(leavesOf);
}

function visible(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
}

/** @param isGroup its heading and description stand above already */
function section(command: Command, isGroup: boolean): string {
  const words = wordsOf(command);
  const own = command.options.filter((option) => !option.hidden && !isOfConnection(option));
  const takesConnection = command.options.some(isOfConnection);
  const aliases = command.aliases();
  return parts(
    isGroup ? '' : `### ${words}`,
    isGroup ? '' : sentence(prose(capital(command.description()))),
    `${code(`${words} ${command.usage()}`)}${aliases.length === 0 ? '' : `, or ${aliases.map(code).join(', ')}`}${takesConnection ? '' : '; takes none of the connection'}`,
    list([...command.registeredArguments.map(argumentItem), ...own.map(optionItem)]),
  );
}

function argumentItem(argument: Argument): string {
  const { description, argChoices, defaultValue } = argument as Argument & { readonly defaultValue?: unknown };
  const name = argument.variadic ? `${argument.name()}…` : argument.name();
  return item(code(argument.required ? `<${name}>` : `[${name}]`), { description, argChoices, defaultValue });
}

function optionItem(option: Option): string {
  return item(code(option.flags), {
    description: option.description,
    argChoices: option.argChoices,
    mandatory: option.mandatory,
    envVar: option.envVar,
    defaultValue: option.defaultValueDescription ?? option.defaultValue,
  });
}

interface Described {
  readonly description: string;
  readonly argChoices?: readonly string[] | undefined;
  readonly mandatory?: boolean;
  readonly defaultValue?: unknown;
  readonly envVar?: string | undefined;
}

function item(flags: string, { description, argChoices, mandatory, defaultValue, envVar }: Described): string {
  const isSaid = ![undefined, null, false, ''].includes(defaultValue as never);
  const facts = [
    mandatory === true ? 'required' : '',
    argChoices === undefined ? '' : argChoices.map(code).join(', '),
    isSaid ? `default: ${code(typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue))}` : '',
    envVar === undefined ? '' : `or ${code(envVar)}`,
  ].filter((fact) => fact !== '');
  return `${flags}${facts.length === 0 ? '' : ` (${facts.join('; ')})`}${description === '' ? '' : `: ${prose(description)}`}`;
}

function programSection(program: ProgramDescription): string {
  return parts(`## ${program.name}`, fenced(answerArguments(program, ['--help'])?.text ?? ''));
}

function isOfConnection(option: Option): boolean {
  return (CONNECTION_OPTIONS as readonly string[]).includes(option.attributeName());
}

function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function fenced(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}
