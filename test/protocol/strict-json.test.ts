import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/protocol/app-error.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { parseStrictJson, toJsonPointer } from '../../src/protocol/strict-json.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const vectors = readVectors<{
  refused: { name: string; input: string; pointer: string }[];
  taken: { name: string; input: string; canonical: string }[];
}>('strict-json');

function parse(text: string, options: { maxDepth?: number } = {}): unknown {
  return parseStrictJson(Buffer.from(text, 'utf8'), options);
}

function refusalOf(bytes: Uint8Array, options: { maxDepth?: number } = {}): AppError {
  try {
    parseStrictJson(bytes, options);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was taken');
}

describe('parseStrictJson', () => {
  it.each(vectors.refused)('refuses $name', ({ input, pointer }) => {
    const error = refusalOf(Buffer.from(input, 'utf8'));
    expect(error.code).toBe('invalid_body');
    expect(error.faults.map(({ path }) => path)).toEqual([pointer]);
    expect(error.message).toMatch(/\(line \d+, column \d+, at /);
  });

  it.each(vectors.taken)('takes $name', ({ input, canonical }) => {
    expect(canonicalJson(parse(input))).toBe(canonical);
  });

  it('reads every JSON value as JSON.parse does, but for minus zero and integers that a double rounds', () => {
    const layout = fc.constantFrom(0, 1, '\t');
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium', stringUnit: 'binary' }), layout, (value, indent) => {
        const plain = JSON.parse(JSON.stringify(value), (_name, member: unknown) =>
          typeof member === 'number' && (member === 0 || Math.abs(member) > 2 ** 53 - 1) ? 0 : member,
        ) as unknown;
        expect(parse(JSON.stringify(plain, null, indent))).toEqual(plain);
      }),
    );
  });

  it('refuses or takes any text as JSON.parse does, or more strictly, and never fails in another way', () => {
    const fragment = fc.constantFrom(
      ...Array.from('{}[]",:\\ \n0123456789-+.eEtrufalsn'),
      'true',
      'null',
      '"a"',
      '\\u',
      '\u0001',
      'é',
    );
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 12 }), (fragments) => {
        const text = fragments.join('');
        let value: unknown;
        try {
          value = parse(text);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          return;
        }
        expect(canonicalJson(value)).toBe(canonicalJson(JSON.parse(text)));
      }),
      { numRuns: 2000 },
    );
  });

  it('says line, column and pointer of the fault', () => {
    const error = refusalOf(Buffer.from('{\n  "values": {\n    "a/b": [1, 1e999]\n  }\n}', 'utf8'));
    expect(error.message).toBe('the number overflows a double (line 3, column 16, at /values/a~1b/1)');
    expect(error.faults).toEqual([
      { path: '/values/a~1b/1', message: 'the number overflows a double (line 3, column 16)' },
    ]);
  });

  it.each([
    ['a wrong first byte', [0x22, 0xff, 0x22], 1],
    ['a broken sequence', [0x22, 0x61, 0xe2, 0x28, 0xa1, 0x22], 2],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22], 1],
    ['a surrogate in UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22], 1],
    ['a sequence that is cut off', [0x22, 0xe2, 0x82], 3],
  ])('refuses invalid UTF-8: %s', (_name, bytes, at) => {
    const error = refusalOf(Uint8Array.from(bytes));
    expect(error.code).toBe('invalid_body');
    const byte = Number(/byte (\d+)/.exec(error.message)?.[1]);
    expect(byte).toBeGreaterThanOrEqual(at);
    expect(byte).toBeLessThanOrEqual(at + 1);
  });

  it('takes nesting up to the limit and refuses one level more', () => {
    expect(parse('['.repeat(64) + ']'.repeat(64))).toHaveLength(1);
    const error = refusalOf(Buffer.from('['.repeat(65) + ']'.repeat(65)));
    expect(error.message).toMatch(/^nested deeper than 64 levels \(line 1, column 65, at \/0\/0/);
    expect(parse('{"a":[1]}', { maxDepth: 2 })).toEqual({ a: [1] });
    expect(refusalOf(Buffer.from('{"a":[[1]]}'), { maxDepth: 2 }).faults[0]?.path).toBe('/a/0');
  });

  it('refuses a million opening brackets without running out of stack', () => {
    expect(refusalOf(Buffer.from('['.repeat(1_000_000))).code).toBe('invalid_body');
  });

  it('keeps a __proto__ member as a member and pollutes nothing', () => {
    const value = parse('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
    expect(refusalOf(Buffer.from('{"__proto__":1,"__proto__":2}')).faults[0]?.path).toBe('/__proto__');
  });

  it('takes members named like those of every object', () => {
    expect(parse('{"toString":1,"hasOwnProperty":2}')).toEqual({ toString: 1, hasOwnProperty: 2 });
  });

  it('reads a large body in time that follows its size', () => {
    const body = Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ n, text: 'x'.repeat(40) }))));
    const started = performance.now();
    parseStrictJson(body);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe('toJsonPointer', () => {
  it('escapes tildes and slashes (RFC 6901)', () => {
    expect(toJsonPointer([])).toBe('');
    expect(toJsonPointer(['a/b', '~', 0, ''])).toBe('/a~1b/~0/0/');
  });
});
