import { PROJECT_VERSION } from './project-version.ts';

/** A program that is set up by its environment alone. */
export interface ProgramDescription {
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** What it does other than to run, one line each: `register --help  …`. */
  readonly commands?: readonly string[];
  /** Names of the variables that it reads. */
  readonly variables: readonly string[];
}

/** What a program says instead of starting. */
export interface ArgumentsAnswer {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
  readonly exitCode: number;
}

/** Answers `--help`, `--version` and whatever is not known; undefined: there are no arguments, the program starts. */
export function answerArguments(program: ProgramDescription, args: readonly string[]): ArgumentsAnswer | undefined {
  const [first] = args;
  if (first === undefined) return undefined;
  if (args.length === 1 && first === '--version') {
    return { stream: 'stdout', text: `${program.name} ${PROJECT_VERSION}\n`, exitCode: 0 };
  }
  if (args.length === 1 && (first === '--help' || first === '-h')) {
    return { stream: 'stdout', text: help(program), exitCode: 0 };
  }
  const text = `${program.name}: unknown arguments: ${args.join(' ')}; it takes --help and --version, and is set up by environment variables\n`;
  return { stream: 'stderr', text, exitCode: 2 };
}

function help({ name, summary, variables, commands = [] }: ProgramDescription): string {
  const more = commands.map((command) => `       ${name} ${command}\n`).join('');
  const list = variables.map((variable) => `  ${variable}\n`).join('');
  return `${summary}\n\nUsage: ${name} [--help | --version]\n${more}\nIt is set up by environment variables, which docs/operations.md explains:\n${list}`;
}
