import { describe, expect, it } from 'vitest';
import { fieldOf, type Field } from '../../../src/web/schema-form/field.ts';
import { readNumber } from '../../../src/web/schema-form/number-text.ts';
import { placeFaults, shownPlaces, stillFound } from '../../../src/web/schema-form/place-faults.ts';
import { pointerOf, valueAt, withValueAt } from '../../../src/web/schema-form/pointer.ts';
import { withoutDefaults } from '../../../src/web/schema-form/without-defaults.ts';
import { readYaml, readYamlObject, writeYaml } from '../../../src/web/schema-form/yaml-text.ts';

const SCHEMA = {
  type: 'object',
  required: ['replicas'],
  properties: {
    replicas: { type: 'integer', minimum: 1, maximum: 5, description: 'Pods' },
    ui: {
      type: 'object',
      additionalProperties: false,
      properties: { message: { type: 'string', default: 'hi' }, color: { enum: ['red', 'blue'] } },
    },
    debug: { type: ['boolean', 'null'] },
    hosts: { type: 'array', items: { $ref: '#/$defs/host' } },
    password: { type: 'string', writeOnly: true },
    either: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    labels: { type: 'object' },
    loop: { $ref: '#/$defs/loop' },
  },
  $defs: { host: { type: 'object', properties: { name: { type: 'string' } } }, loop: { $ref: '#/$defs/loop' } },
};
const INPUTS = { root: SCHEMA, fallbacks: { ui: { message: 'hello' } } };

function named(name: string): Field | undefined {
  const field = fieldOf(SCHEMA, [], INPUTS);
  return field.kind === 'object' ? field.fields.find(({ path }) => path[0] === name) : undefined;
}

describe('fieldOf', () => {
  it('makes a field of each kind out of a schema', () => {
    const field = fieldOf(SCHEMA, [], INPUTS);
    expect(field).toMatchObject({ kind: 'object', takesMore: true });
    expect(field.kind === 'object' && field.fields.map(({ kind }) => kind)).toEqual(
      ['number', 'object', 'choice', 'array', 'text', 'yaml', 'yaml', 'yaml'], //
    );
    expect(named('replicas')).toEqual({
      kind: 'number',
      isInteger: true,
      minimum: 1,
      maximum: 5,
      path: ['replicas'],
      title: 'replicas',
      description: 'Pods',
      isRequired: true,
    });
    expect(named('debug')).toMatchObject({ choices: [true, false], isRequired: false });
    expect(named('password')).toMatchObject({ isSecret: true });
  });

  it('tells what holds where nothing is given: by the catalog before by the schema', () => {
    const ui = named('ui');
    expect(ui).toMatchObject({ kind: 'object', takesMore: false });
    expect(ui?.kind === 'object' && ui.fields[0]).toMatchObject({ fallback: 'hello' });
    expect(fieldOf(SCHEMA.properties.ui.properties.message, ['a'], { root: {} })).toMatchObject({ fallback: 'hi' });
  });

  it('ends at a schema that is nested without an end', () => {
    const root = { type: 'object', properties: { deep: { $ref: '#' } } };
    let field = fieldOf(root, [], { root });
    let depth = 0;
    while (field.kind === 'object' && depth < 100) {
      depth += 1;
      field = field.fields[0] ?? field;
    }
    expect([depth, field.kind]).toEqual([2, 'yaml']);
  });

  it('has no more fields than a reader and a browser can take in', () => {
    const countOf = (field: Field): number =>
      1 + (field.kind === 'object' ? field.fields.reduce((sum, one) => sum + countOf(one), 0) : 0);
    const many = (count: number, of: object) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, of]));
    // Each level is another definition: no $ref comes twice, and written out it would be 8^8 fields.
    const levels = Array.from({ length: 8 }, (_, level) => [
      `l${level}`,
      { type: 'object', properties: many(8, level === 7 ? { type: 'string' } : { $ref: `#/$defs/l${level + 1}` }) },
    ]);
    const branching = { $ref: '#/$defs/l0', $defs: Object.fromEntries(levels) };
    expect(countOf(fieldOf(branching, [], { root: branching }))).toBeLessThanOrEqual(301);
    const twice = { type: 'object', properties: many(20, { $ref: '#' }) };
    expect(countOf(fieldOf(twice, [], { root: twice }))).toBeLessThanOrEqual(301);
    const wide = { type: 'object', properties: many(301, { type: 'string' }) };
    expect(fieldOf(wide, [], { root: wide })).toMatchObject({ kind: 'yaml' });
  });
});

describe('withValueAt', () => {
  it('sets and takes away values, and leaves no empty object behind', () => {
    const values = withValueAt(withValueAt({}, ['ui', 'message'], 'x'), ['ui', 'color'], 'red');
    expect(values).toEqual({ ui: { message: 'x', color: 'red' } });
    expect(withValueAt(values, ['ui', 'color'], undefined)).toEqual({ ui: { message: 'x' } });
    expect(withValueAt({ ui: { message: 'x' } }, ['ui', 'message'], undefined)).toBeUndefined();
  });

  it('replaces and takes out items of a list without touching the one that was given', () => {
    const values = { hosts: [{ name: 'a' }, { name: 'b' }] };
    expect(withValueAt(values, ['hosts', 1, 'name'], 'c')).toEqual({ hosts: [{ name: 'a' }, { name: 'c' }] });
    expect(withValueAt(values, ['hosts', 0], undefined)).toEqual({ hosts: [{ name: 'b' }] });
    expect(values).toEqual({ hosts: [{ name: 'a' }, { name: 'b' }] });
  });

  it('reads no member that an object inherits', () => {
    expect(valueAt({}, ['constructor'])).toBeUndefined();
    expect(pointerOf(['a/b', 'c~d', 0])).toBe('/a~1b/c~0d/0');
  });
});

describe('placeFaults', () => {
  it('puts each fault at its field, at the nearest one around it, or beside the form', () => {
    const values = { hosts: [{ name: 'a' }] };
    const shown = shownPlaces(fieldOf(SCHEMA, [], INPUTS), values, INPUTS);
    const placed = placeFaults(
      [
        { path: '/values/replicas', message: 'must be >= 1' },
        { path: '/values/hosts/0/name', message: 'is taken' },
        { path: '/values/labels/team/x', message: 'must be string' },
        { path: '/secretValues/password', message: 'is too short' },
        { path: '/values', message: 'is too large' },
        { path: '/valuesElse', message: 'no' },
      ],
      shown,
      ['/values', '/secretValues'],
    );
    expect([...placed.at]).toEqual([
      ['/replicas', ['must be >= 1']],
      ['/hosts/0/name', ['is taken']],
      ['/labels', ['team.x: must be string']],
      ['/password', ['is too short']],
      ['', ['is too large']],
    ]);
    expect(placed.others).toEqual([{ path: '/valuesElse', message: 'no' }]);
  });
});

it('keeps no fault of a place that was changed since, nor of what is below it', () => {
  const faults = ['/values/ui/color', '/values/ui', '/values/uid', '/chartVersion'].map((path) => ({
    path,
    message: '',
  }));
  const left = (touched?: string) => stillFound(faults, touched, ['/values']).map(({ path }) => path);
  expect(left('/ui')).toEqual(['/values/uid', '/chartVersion']);
  expect(left('')).toEqual(['/chartVersion']);
  expect(left()).toEqual(faults.map(({ path }) => path));
});

describe('the text view', () => {
  it('writes and reads values as YAML', () => {
    const values = { ui: { message: 'a: b' }, list: [1, true, null] };
    expect(readYamlObject(writeYaml(values))).toEqual({ value: values });
    expect(readYaml('  \n')).toEqual({ value: undefined });
    expect(writeYaml(undefined)).toBe('');
  });

  it('says what is wrong with a text, and where', () => {
    expect(readYamlObject('a: [1')).toEqual({ fault: expect.stringContaining('at line 1') });
    expect(readYamlObject('- a')).toEqual({ fault: expect.stringContaining('mapping') });
    expect(readYaml('a: .inf')).toEqual({ fault: expect.stringContaining('Infinity') });
  });

  it('takes no number that would be another one on its way', () => {
    expect(readYaml('a: 9007199254740993')).toEqual({ fault: expect.stringContaining('in quotes') });
    expect(readYaml('a: "9007199254740993"')).toEqual({ value: { a: '9007199254740993' } });
  });
});

describe('a text that JSON has no place for', () => {
  it.each([
    ['base: &x {a: 1}\nb:\n  <<: *x', '<<', 3],
    ['a: 1\nb: !!binary aGVsbG8=', '!!binary', 2],
    ['a: !vault x', '!vault', 1],
    ['!!set {a}', '!!set', 1],
    ['a: 1\n? [b, c]\n: 2', 'a name must be plain text', 2],
    ['a: 1\n? {b: c}\n: 2', 'a name must be plain text', 2],
    ['a: 0.12345678901234567890', 'put it in quotes', 1],
    ['a: 1e-400', 'put it in quotes', 1],
    ['a: &a\n  - *a', 'stands in itself', 2],
    ['&a {b: *a}', 'stands in itself', 1],
  ])('%j is refused, with its line', (text, what, line) => {
    expect(readYaml(text)).toEqual({ fault: expect.stringContaining(what) });
    expect(readYaml(text)).toEqual({ fault: expect.stringContaining(`at line ${line}`) });
  });

  it.each([500, 5000])('nested %d deep is refused in words', (depth) => {
    expect(readYaml(`${'['.repeat(depth)}${']'.repeat(depth)}`)).toEqual({
      fault: expect.stringContaining('nested too deeply'),
    });
  });

  it('is not one that only looks so', () => {
    const text = 'a: &x {b: 1.50}\nc: *x\n"<<": 1\nd: !!str 5\ne: 1.5e3\nf: -0.0\ng: 100.0\n1: h\ni: 0.1';
    const b = { b: 1.5 };
    expect(readYaml(text)).toEqual({
      value: { 1: 'h', a: b, c: b, '<<': 1, d: '5', e: 1500, f: -0, g: 100, i: 0.1 },
    });
  });

  it('is empty where it holds comments alone', () => {
    expect(['# later\n', '---\n# later\n'].map(readYamlObject)).toEqual([{ value: undefined }, { value: undefined }]);
    expect(readYaml('~')).toEqual({ value: null });
    expect(readYaml('""')).toEqual({ value: '' });
  });
});

describe('readNumber', () => {
  it('takes numbers within their bounds', () => {
    const field = { isInteger: true, minimum: 1, maximum: 5 };
    expect(['3', '', '0', '6', '1.5', 'x', '0x2'].map((text) => readNumber(text, field))).toEqual([
      { value: 3 },
      { value: undefined },
      { fault: 'must be 1 or more' },
      { fault: 'must be 5 or less' },
      { fault: 'must be a whole number' },
      { fault: 'must be a number' },
      { value: 2 },
    ]);
  });
});

it('asks for nothing that the defaults say anyway', () => {
  const defaults = { ui: { message: 'hello', color: 'red' }, list: [1], deep: {} };
  expect(withoutDefaults({ ui: { message: 'hello', color: 'blue' }, list: [1], deep: {}, own: 1 }, defaults)).toEqual({
    ui: { color: 'blue' },
    own: 1,
  });
  expect(withoutDefaults(defaults, defaults)).toBeUndefined();
  expect(withoutDefaults({ deep: { x: undefined } }, undefined)).toEqual({ deep: { x: undefined } });
});
