import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/protocol/app-error.ts';
import { EventsRequest } from '../../src/protocol/event.ts';
import { compileParser, compileQueryParser } from '../../src/protocol/parse.ts';

const Schema = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z]+$', description: 'a name in lower-case letters' }),
    mode: Type.Optional(Type.Unsafe<'pull' | 'push'>({ type: 'string', enum: ['pull', 'push'] })),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
    nested: Type.Optional(Type.Object({ on: Type.Boolean() }, { additionalProperties: false })),
    list: Type.Optional(Type.Array(Type.String({ pattern: '^x' }), { maxItems: 2 })),
    version: Type.Optional(Type.Literal('v1')),
    either: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
  },
  { additionalProperties: false },
);
const parse = compileParser(Schema);

function refusalOf(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was taken');
}

describe('compileParser', () => {
  it('gives back the very value that fits', () => {
    const value = { name: 'abc', count: 2 };
    expect(parse(value)).toBe(value);
  });

  it('lists every violation at once, each with its place and what is allowed', () => {
    const value = {
      name: 'ABC',
      mode: 'gitops',
      count: 9,
      nested: { on: 'yes', 'o/n': 1 },
      list: ['y'],
      version: 'v2',
      either: true,
      extra: 1,
    };
    const error = refusalOf(() => parse(value));
    expect(error.code).toBe('constraint_violated');
    expect(error.faults.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { path: '/count', message: 'must be from 1 to 5', allowed: { minimum: 1, maximum: 5 } },
      { path: '/either', message: 'has none of the allowed forms', allowed: ['string', 'integer'] },
      {
        path: '/extra',
        message: 'is not known; the known fields are name, mode, count, nested, list, version, either',
        allowed: ['name', 'mode', 'count', 'nested', 'list', 'version', 'either'],
      },
      { path: '/list/0', message: 'must match ^x', allowed: { pattern: '^x' } },
      { path: '/mode', message: 'must be one of pull, push', allowed: ['pull', 'push'] },
      { path: '/name', message: 'must be a name in lower-case letters', allowed: { pattern: '^[a-z]+$' } },
      { path: '/nested/on', message: 'must be a boolean', allowed: 'boolean' },
      { path: '/nested/o~1n', message: 'is not known; the known fields are on', allowed: ['on'] },
      { path: '/version', message: 'must be v1', allowed: ['v1'] },
    ]);
    expect(error.message).toBe(`${error.faults[0]?.path}: ${error.faults[0]?.message} (and 8 more)`);
  });

  it('says of forms that differ by a constant what is wrong with the one that was meant', () => {
    const forms = compileParser(
      Type.Object({
        write: Type.Union([
          Type.Object({
            kind: Type.Literal('token'),
            token: Type.String({ pattern: '^[a-z]+$', description: 'a token' }),
          }),
          Type.Object({ kind: Type.Literal('ssh'), privateKey: Type.String() }),
        ]),
      }),
    );
    const faults = (write: unknown): string[] =>
      refusalOf(() => forms({ write })).faults.map(({ path, message }) => `${path} ${message}`);
    expect(faults({ kind: 'token', token: 'glpat-…' })).toEqual(['/write/token must be a token']);
    expect(faults({ kind: 'ssh' })).toEqual(['/write/privateKey is required']);
    expect(faults({ kind: 'ssh', privateKey: 7 })).toEqual(['/write/privateKey must be a string']);
    for (const other of [{ kind: 'smoke' }, {}, 7])
      expect(faults(other)).toEqual(['/write has none of the allowed forms']);
  });

  it('names a missing field by its own path', () => {
    const error = refusalOf(() => parse({}));
    expect(error.message).toBe('/name: is required');
    expect(error.faults).toEqual([{ path: '/name', message: 'is required', allowed: 'string' }]);
  });

  it.each([
    [null, 'the body must be an object'],
    [[], 'the body must be an object'],
    ['text', 'the body must be an object'],
    [undefined, 'the body must be an object'],
  ])('refuses %j as a whole', (value, message) => {
    expect(refusalOf(() => parse(value)).message).toBe(message);
  });

  it('lists at most 20 faults of a body that has thousands', () => {
    const value = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`x${index}`, 1]));
    const error = refusalOf(() => parse({ name: 'a', ...value }));
    expect(error.faults).toHaveLength(20);
    expect(error.message.length).toBeLessThan(300);
  });

  it('lists more faults than TypeBox does by itself', () => {
    const value = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`x${index}`, 1]));
    expect(refusalOf(() => parse({ name: 'a', ...value })).faults).toHaveLength(15);
  });

  it('names the index of the event that is at fault', () => {
    const event = { eventKey: 'k', kind: 'Nonsense', resourceRef: { apiVersion: 'v1', kind: 'Cluster', name: 'a' } };
    const condition = { type: 'Ready', status: 'Maybe' };
    const error = refusalOf(() => compileParser(EventsRequest)({ events: [{ ...event, conditions: [condition] }] }));
    expect(error.faults.map(({ path }) => path).toSorted()).toEqual([
      '/events/0/conditions/0/status',
      '/events/0/kind',
    ]);
  });

  it('takes fields that are not in an open schema', () => {
    expect(compileParser(EventsRequest)({ events: [], later: true })).toEqual({ events: [], later: true });
  });
});

describe('compileQueryParser', () => {
  const query = compileQueryParser(
    Type.Object({
      wait: Type.Optional(Type.Integer({ minimum: 0, maximum: 300 })),
      dry: Type.Optional(Type.Boolean()),
      cluster: Type.Optional(Type.String()),
      kind: Type.Optional(Type.Array(Type.String())),
    }),
  );

  it('reads integers, booleans and lists out of text', () => {
    expect(query({ wait: '30', dry: 'true', cluster: '7', kind: 'a' })).toEqual({
      wait: 30,
      dry: true,
      cluster: '7',
      kind: ['a'],
    });
    expect(query({ kind: ['a', 'b'], dry: 'false' })).toEqual({ kind: ['a', 'b'], dry: false });
    expect(query(undefined)).toEqual({});
  });

  it.each([
    ['301', '/wait: must be from 0 to 300'],
    ['-1', '/wait: must be from 0 to 300'],
    ['1.5', '/wait: must be an integer'],
    ['', '/wait: must be an integer'],
    ['0x10', '/wait: must be an integer'],
    [' 1', '/wait: must be an integer'],
    ['9'.repeat(400), '/wait: must be an integer'],
  ])('refuses wait=%s', (wait, message) => {
    expect(refusalOf(() => query({ wait })).message).toBe(message);
  });

  it('refuses a parameter that is given twice where one is taken', () => {
    expect(refusalOf(() => query({ wait: ['1', '2'] })).code).toBe('constraint_violated');
  });
});
