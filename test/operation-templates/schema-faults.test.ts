import { describe, expect, it } from 'vitest';
import { schemaFaults } from '../../src/operation-templates/schema-faults.ts';

const GOOD = {
  type: 'object',
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 9, default: 3, title: 'Size', description: 'How many.' },
    mode: { type: 'string', enum: ['fast', 'safe'], default: 'safe' },
    tables: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 63 }, maxItems: 5, uniqueItems: true },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    where: {
      type: 'object',
      properties: { host: { type: 'string' } },
      required: ['host'],
      additionalProperties: false,
    },
  },
  required: ['tables'],
  additionalProperties: false,
};

const parameter = (node: unknown) => ({ type: 'object', properties: { a: node } });
const text = (count: number) => 'x'.repeat(count);

describe('a schema of the parameters of an operation template', () => {
  it('is taken with every keyword that there is', () => {
    expect(schemaFaults(GOOD, '/parameters')).toEqual([]);
    expect(schemaFaults({ type: 'object' }, '/parameters')).toEqual([]);
  });

  it.for<[string, unknown, string, string]>([
    ['is none', 'object', '', 'must be a JSON schema'],
    ['is null', null, '', 'must be a JSON schema'],
    ['is of another type', { type: 'string' }, '/type', 'must be object'],
    ['has no type', { properties: {} }, '/type', 'must be object'],
    ['has a parameter without a type', parameter({}), '/properties/a/type', 'is required'],
    ['has a list of types', parameter({ type: ['string', 'null'] }), '/properties/a/type', 'must be one of object'],
    ['has a pattern', parameter({ type: 'string', pattern: '(a+)+$' }), '/properties/a/pattern', 'is not in the part'],
    ['has a format', parameter({ type: 'string', format: 'email' }), '/properties/a/format', 'is not in the part'],
    ['has a reference', parameter({ $ref: '#', type: 'string' }), '/properties/a/$ref', 'is not in the part'],
    ['combines schemas', { type: 'object', anyOf: [] }, '/anyOf', 'is not in the part'],
    ['has a keyword of objects', parameter({ type: 'constructor' }), '/properties/a/type', 'must be one of'],
    ['limits what has no limit', parameter({ type: 'boolean', minimum: 1 }), '/properties/a/minimum', 'says nothing'],
    ['counts in fractions', parameter({ type: 'string', maxLength: 1.5 }), '/properties/a/maxLength', 'whole number'],
    [
      'has an empty range',
      parameter({ type: 'integer', minimum: 2, maximum: 1 }),
      '/properties/a/minimum',
      'more than',
    ],
    ['has an empty enum', parameter({ type: 'string', enum: [] }), '/properties/a/enum', '1 to 100'],
    [
      'has an enum of another type',
      parameter({ type: 'string', enum: ['a', 1] }),
      '/properties/a/enum/1',
      'of type string',
    ],
    [
      'has a constant of another type',
      parameter({ type: 'integer', const: 'a' }),
      '/properties/a/const',
      'of type integer',
    ],
    [
      'has a default out of range',
      parameter({ type: 'integer', maximum: 3, default: 4 }),
      '/properties/a/default',
      '3',
    ],
    [
      'has a default inside a parameter',
      parameter({ type: 'object', properties: { b: { type: 'string', default: 'x' } } }),
      '/properties/a/properties/b/default',
      'of a parameter itself only',
    ],
    ['requires what is not there', { ...parameter({ type: 'string' }), required: ['b'] }, '/required/0', 'those are a'],
    [
      'has a name that no shell takes',
      { type: 'object', properties: { 'a=b': { type: 'string' } } },
      '/properties/a=b',
      'a name of letters',
    ],
    [
      'has a name that every object has',
      { type: 'object', properties: { constructor: { type: 'string' } } },
      '/properties/constructor',
      'a name of letters',
    ],
    ...['isPrototypeOf', 'toLocaleString', 'propertyIsEnumerable'].map((name): [string, unknown, string, string] => [
      `has the name ${name}, which every object has`,
      { type: 'object', properties: { [name]: { type: 'string' } } },
      `/properties/${name}`,
      'none that every object has',
    ]),
    [
      'lists a value that the rest refuses',
      parameter({ type: 'string', enum: ['x', 'long enough'], minLength: 5 }),
      '/properties/a/enum/0',
      'fits nothing',
    ],
    [
      'has a constant that is not listed',
      parameter({ type: 'integer', enum: [1, 2], const: 3 }),
      '/properties/a/const',
      'must be one of 1, 2',
    ],
    [
      'has a range without a whole number',
      parameter({ type: 'integer', minimum: 1.2, maximum: 1.8 }),
      '/properties/a/minimum',
      'no whole number',
    ],
    ['is too large', parameter({ type: 'string', description: text(33_000) }), '', 'at most 32768'],
  ])('is refused when it %s', ([, schema, path, message]) => {
    expect(schemaFaults(schema, '/parameters')).toMatchObject([
      { path: `/parameters${path}`, message: expect.stringContaining(message) },
    ]);
  });

  it('is refused when it is nested deeper than 8', () => {
    const nested = (depth: number): object =>
      depth === 1 ? { type: 'object' } : { type: 'object', properties: { a: nested(depth - 1) } };
    expect(schemaFaults(nested(8), '')).toEqual([]);
    expect(schemaFaults(nested(9), '')).toMatchObject([{ message: 'is nested deeper than 8 schemas' }]);
  });

  it('is told what is wrong in few words, however much there is', () => {
    const names = Array.from({ length: 100 }, (_, at) => `${text(60)}${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const found = schemaFaults({ type: 'object', properties, required: Array.from({ length: 3000 }, () => 1) }, '');
    expect(found).toHaveLength(3000);
    expect(JSON.stringify(found[0]).length).toBeLessThan(2500);
    expect(found[0]?.message).toMatch(/ and 85 more$/);
  });

  it('is told every fault at once', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'text' }, b: { type: 'string', pattern: 'x' } },
      required: ['c'],
    };
    expect(schemaFaults(schema, '/parameters').map(({ path }) => path)).toEqual([
      '/parameters/properties/a/type',
      '/parameters/properties/b/pattern',
      '/parameters/required/0',
    ]);
  });
});
