import { describe, expect, it } from 'vitest';
import { isColoured, paintOf, toneOf } from '../../src/cli/colours.ts';
import { factsText, print, sectionText, type Column, type OutputFormat } from '../../src/cli/output.ts';

interface Thing {
  readonly name: string;
  readonly state?: string;
  readonly size: number;
}

const COLUMNS: readonly Column<Thing>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state ?? '-') },
  { header: 'SIZE', value: ({ size }) => size, isWide: true },
];
const THINGS: readonly Thing[] = [
  { name: 'a', state: 'Ready', size: 3 },
  { name: 'long\u001b[2J\nname', size: 0 },
];

function list(
  output: OutputFormat,
  items = THINGS,
  isColoured = false,
): { readonly out: string; readonly err: string } {
  let out = '';
  let err = '';
  const deps = { out: (text: string) => (out += text), err: (text: string) => (err += text), isColoured };
  print(deps, { output }, { items, columns: COLUMNS, nameOf: ({ name }) => name, empty: 'To make one: make' });
  return { out, err };
}

describe('a list', () => {
  it('is a table whose cells are a line each and harmless to a terminal, with more columns when it is wide', () => {
    expect(list('table').out).toBe('NAME            STATE\na               Ready\nlong\ufffd[2J name   -\n');
    expect(list('wide').out.split('\n').slice(0, 2)).toEqual([
      'NAME            STATE   SIZE',
      'a               Ready   3',
    ]);
  });

  it('is a document with all that there is, or the names alone', () => {
    expect(JSON.parse(list('json').out)).toEqual({ items: THINGS });
    expect(list('yaml', THINGS.slice(0, 1)).out).toBe('items:\n  - name: a\n    state: Ready\n    size: 3\n');
    expect(list('name').out).toBe('a\nlong\ufffd[2J\nname\n');
  });

  it('says on standard error how to get one where there is none, beside a table alone', () => {
    expect(list('table', [])).toEqual({ out: 'NAME   STATE\n', err: 'To make one: make\n' });
    expect(list('json', [])).toEqual({ out: '{\n  "items": []\n}\n', err: '' });
  });

  it('is coloured without a change of its columns', () => {
    const { out } = list('table', THINGS.slice(0, 1), true);
    expect(out).toBe('\u001b[1mNAME\u001b[0m   \u001b[1mSTATE\u001b[0m\na      \u001b[32mReady\u001b[0m\n');
    expect(list('json', THINGS, true).out).not.toContain('\u001b');
  });
});

describe('an object', () => {
  it('is in words, a document, or its name', () => {
    const shown = (output: OutputFormat): string => {
      let out = '';
      const deps = { out: (text: string) => (out += text), err: () => undefined };
      const item = THINGS[0];
      if (item === undefined) throw new Error('there is none');
      print(
        deps,
        { output },
        { item, nameOf: ({ name }) => name, text: (thing, { isWide }) => `${thing.name} ${isWide}\n` },
      );
      return out;
    };
    expect((['table', 'wide', 'json', 'yaml', 'name'] as const).map(shown)).toEqual([
      'a false\n',
      'a true\n',
      '{\n  "name": "a",\n  "state": "Ready",\n  "size": 3\n}\n',
      'name: a\nstate: Ready\nsize: 3\n',
      'a\n',
    ]);
  });

  it('is told as facts, without those that are not known', () => {
    expect(
      factsText([
        ['name', 'a'],
        ['since', undefined],
        ['last contact', 0],
      ]),
    ).toBe('name          a\nlast contact  0\n');
    expect(factsText([['state', 'gone\u0007', 'bad']], paintOf({ isColoured: true }))).toBe(
      'state  \u001b[31mgone\ufffd\u001b[0m\n',
    );
    expect(sectionText([], COLUMNS)).toBe('');
  });
});

it.each([
  ['auto', true, {}, true],
  ['auto', false, {}, false],
  ['auto', true, { NO_COLOR: '1' }, false],
  ['auto', true, { NO_COLOR: '' }, true],
  ['auto', true, { TERM: 'dumb' }, false],
  ['always', false, { NO_COLOR: '1' }, true],
  ['never', true, {}, false],
] as const)('--color %s in a terminal (%s) with %j is coloured: %s', (when, isTerminal, env, expected) => {
  expect(isColoured(when, { isTerminal, env })).toBe(expected);
});
