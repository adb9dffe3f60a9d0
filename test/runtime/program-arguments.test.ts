import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerArguments } from '../../src/runtime/program-arguments.ts';
import { PROJECT_VERSION } from '../../src/runtime/project-version.ts';

const PROGRAM = { name: 'service-x', summary: 'Does x.', variables: ['SERVICE_A', 'SERVICE_B'] };

describe('answerArguments', () => {
  it('lets the program start when there are no arguments', () => {
    expect(answerArguments(PROGRAM, [])).toBeUndefined();
  });

  it('says the version of package.json', () => {
    const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
    expect((JSON.parse(text) as { version: string }).version).toBe(PROJECT_VERSION);
    expect(answerArguments(PROGRAM, ['--version'])).toEqual({
      stream: 'stdout',
      text: `service-x ${PROJECT_VERSION}\n`,
      exitCode: 0,
    });
  });

  it.each(['--help', '-h'])('answers %s with what it does and the variables that it reads', (flag) => {
    expect(answerArguments(PROGRAM, [flag])).toEqual({
      stream: 'stdout',
      text: [
        'Does x.',
        '',
        'Usage: service-x [--help | --version]',
        '',
        'It is set up by environment variables, which docs/operations.md explains:',
        '  SERVICE_A',
        '  SERVICE_B',
        '',
      ].join('\n'),
      exitCode: 0,
    });
  });

  it.each([['--port', '8080'], ['--version', 'now'], ['']])('refuses %j and names it', (...args) => {
    expect(answerArguments(PROGRAM, args)).toEqual({
      stream: 'stderr',
      text: `service-x: unknown arguments: ${args.join(' ')}; it takes --help and --version, and is set up by environment variables\n`,
      exitCode: 2,
    });
  });
});
