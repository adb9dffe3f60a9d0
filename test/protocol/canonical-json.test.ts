import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { parseStrictJson } from '../../src/protocol/strict-json.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const vectors = readVectors<{ cases: { name: string; input: string; canonical: string }[] }>('jcs');

/** The RFC author's own test data, where a checkout has it beside it; else our own stand for it. */
const published = fileURLToPath(new URL('../../../shared/data/jcs', import.meta.url));
const reference = existsSync(published)
  ? readdirSync(join(published, 'input')).map((name) => ({
      name,
      input: readFileSync(join(published, 'input', name), 'utf8'),
      canonical: readFileSync(join(published, 'output', name), 'utf8'),
    }))
  : vectors.cases;

describe('canonicalJson', () => {
  it.each(vectors.cases)('$name', ({ input, canonical }) => {
    expect(canonicalJson(parseStrictJson(Buffer.from(input, 'utf8')))).toBe(canonical);
  });

  it.each(reference)('gives what the test data of RFC 8785 says: $name', ({ input, canonical }) => {
    expect(canonicalJson(parseStrictJson(Buffer.from(input, 'utf8')))).toBe(canonical);
  });

  it('depends on the value alone, not on the order of its members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })), (object) => {
        const reversed = Object.fromEntries(Object.entries(object).reverse());
        expect(canonicalJson(reversed)).toBe(canonicalJson(object));
        expect(JSON.parse(canonicalJson(object))).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  it('leaves out members that are undefined', () => {
    expect(canonicalJson({ b: undefined, a: 1 })).toBe('{"a":1}');
  });

  it.each([
    ['undefined', undefined],
    ['NaN', { a: Number.NaN }],
    ['infinity', [Number.POSITIVE_INFINITY]],
    ['a lone surrogate', '\ud800'],
    ['a lone surrogate in a name', { '\udc00': 1 }],
  ])('refuses %s', (_name, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });
});
