import { describe, expect, it } from 'vitest';
import { runValuesCheck } from '../../src/control-plane/values-check.ts';

function faultsOf(schema: object, values: object = {}): readonly { path: string; message: string }[] | string {
  const answer = runValuesCheck(JSON.stringify({ schema, values, isWhole: true, isNew: true }));
  return answer.state === 'judged' ? answer.faults : answer.why;
}

const CIRCLE = /^leads back to itself about the same value/;
const ABSENT = /is not in this schema, and nothing outside of it is read; begin it with #\/$/;

describe('a valuesSchema that cannot be used', () => {
  it.each([
    ['a reference to itself', { $ref: '#' }, '/$ref', CIRCLE],
    ['a part of itself that is itself', { allOf: [{ $ref: '#' }] }, '/allOf/0/$ref', CIRCLE],
    ['what it is not', { not: { $ref: '#' } }, '/not/$ref', CIRCLE],
    ['itself under a condition', { if: { minProperties: 1 }, else: { $ref: '#' } }, '/else/$ref', CIRCLE],
    ['itself beside a member', { dependentSchemas: { a: { $ref: '#' } } }, '/dependentSchemas/a/$ref', CIRCLE],
    [
      'a definition that is one of itself',
      { definitions: { x: { anyOf: [{ $ref: '#/definitions/x' }] } }, properties: { a: { $ref: '#/definitions/x' } } },
      '/definitions/x/anyOf/0/$ref',
      CIRCLE,
    ],
    [
      'definitions that lead to each other',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, properties: { x: { $ref: '#/$defs/a' } } },
      '/$defs/b/$ref',
      CIRCLE,
    ],
    ['a reference to nothing', { properties: { a: { $ref: '#/definitions/no' } } }, '/properties/a/$ref', ABSENT],
    ['an anchor that is not there', { properties: { a: { $ref: '#no' } } }, '/properties/a/$ref', ABSENT],
    ['another document', { $ref: 'https://example.com/values.json' }, '/$ref', ABSENT],
    ['a member of every object', { $ref: '#/constructor' }, '/$ref', ABSENT],
    ['a reference that is no URI', { $ref: '#/%E0%A4%A' }, '/$ref', ABSENT],
    ['a reference that is a number', { $ref: 1 }, '/$ref', /^must be a text$/],
    ['a reference to what is no schema', { $ref: '#/title', title: 'x' }, '/$ref', /^must be a schema/],
    [
      'a type that is none',
      { properties: { a: { type: 'nonsense' } } },
      '/properties/a/type',
      /^must be one of object, /,
    ],
    ['a type of TypeBox', { type: 'bigint' }, '/type', /^must be one of object, /],
    ['a list with such a type', { type: ['string', 'text'] }, '/type', /^must be one of object, /],
    ['a member that is a number', { properties: { 'a/b': 5 } }, '/properties/a~1b', /^must be a schema: an object/],
    ['members that are a list', { properties: [] }, '/properties', /^must be an object of schemas$/],
    ['nothing to choose from', { anyOf: [] }, '/anyOf', /^must be a list of schemas, of one at least$/],
    ['a length that is a text', { items: { minLength: '1' } }, '/items/minLength', /^must be an integer of 0 or more$/],
    ['a bound of draft 4', { minimum: 1, exclusiveMinimum: true }, '/exclusiveMinimum', /^must be a number$/],
    ['a multiple of nothing', { multipleOf: 0 }, '/multipleOf', /^must be a number above 0$/],
    ['a name that must be there alone', { required: 'a' }, '/required', /^must be a list of names$/],
    [
      'a broken pattern',
      { additionalProperties: { pattern: '(' } },
      '/additionalProperties/pattern',
      /regular expression$/,
    ],
    ['a broken pattern of names', { patternProperties: { '(': {} } }, '/patternProperties', /are regular expressions$/],
    ['a dynamic reference', { $dynamicRef: '#x' }, '/$dynamicRef', /not supported; use \$ref$/],
    ['a fault in what is referred to only', { $ref: '#/x', x: { type: 'y' } }, '/$ref/type', /^must be one of/],
  ])('is %s', (_, schema, path, message) => {
    expect(faultsOf(schema)).toEqual([{ path: `/valuesSchema${path}`, message: expect.stringMatching(message) }]);
  });

  it('is one that goes too deep', () => {
    const count = 20_000;
    const $defs: Record<string, unknown> = { last: {} };
    for (let at = 0; at < count; at += 1)
      $defs[`d${at}`] = { $ref: `#/$defs/${at + 1 < count ? `d${at + 1}` : 'last'}` };
    expect(faultsOf({ $ref: '#/$defs/d0', $defs })).toBe('it goes too deep');
  });

  it('is told in twenty short faults at the most', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`a${at}`, { $ref: 'x'.repeat(10_000) }]),
    );
    const faults = faultsOf({ properties });
    expect(faults).toHaveLength(20);
    expect(JSON.stringify(faults).length).toBeLessThan(20_000);
  });
});

const TREE = {
  type: 'object',
  properties: { root: { $ref: '#/definitions/node' } },
  definitions: {
    node: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, below: { type: 'array', items: { $ref: '#/definitions/node' } } },
      additionalProperties: false,
    },
  },
};

describe('a valuesSchema that refers to itself for what is below', () => {
  it.each([
    [
      'a tree',
      TREE,
      { root: { name: 'a', below: [{ name: 'b', below: [{ name: 7 }] }] } },
      '/root/below/0/below/0/name',
    ],
    [
      'the whole',
      { properties: { n: { type: 'number' }, sub: { $ref: '#' } } },
      { sub: { sub: { n: 'x' } } },
      '/sub/sub/n',
    ],
    [
      'an anchor',
      { $ref: '#node', $defs: { a: { $anchor: 'node', type: 'object', additionalProperties: { $ref: '#node' } } } },
      { a: { b: 3 } },
      '/a/b',
    ],
    [
      'a part with an $id',
      { properties: { a: { $ref: 'part.json' } }, $defs: { p: { $id: 'part.json', type: 'string' } } },
      { a: 3 },
      '/a',
    ],
    [
      'an escaped name',
      { properties: { a: { $ref: '#/definitions/x~1y%20z' } }, definitions: { 'x/y z': { type: 'string' } } },
      { a: 3 },
      '/a',
    ],
  ])('judges by %s', (_, schema, wrong, path) => {
    expect(faultsOf(schema)).toEqual([]);
    expect(faultsOf(schema, wrong)).toEqual([expect.objectContaining({ path: `/values${path}` })]);
  });

  it('may have true and false for schemas, and keywords that nobody knows', () => {
    expect(faultsOf({ properties: { a: true, b: false }, 'x-note': { type: 'nonsense' } }, { a: 1 })).toEqual([]);
  });
});
