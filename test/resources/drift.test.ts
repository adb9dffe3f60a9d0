import { assert, dictionary, jsonValue, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprint, holds } from '../../src/resources/drift.ts';

describe('holds', () => {
  const table: readonly [string, unknown, unknown, boolean][] = [
    ['overlooks what the object has beyond the manifest', { a: 1, b: 2 }, { a: 1 }, true],
    ['sees a changed value', { a: 2 }, { a: 1 }, false],
    ['sees a missing member', {}, { a: { b: 1 } }, false],
    ['sees a list that grew', { a: [1, 2] }, { a: [1] }, false],
    ['sees a list in another order', { a: [2, 1] }, { a: [1, 2] }, false],
    ['overlooks defaults inside the members of a list', { a: [{ n: 1, default: true }] }, { a: [{ n: 1 }] }, true],
    ['takes an empty mapping for none', {}, { a: {} }, true],
    ['takes an explicit null for none', {}, { a: null }, true],
    ['tells null from a value', { a: 1 }, { a: null }, false],
    ['tells a mapping from a list', { a: [] }, { a: {} }, false],
  ];
  it.each(table)('%s', (_, live, desired, expected) => {
    expect(holds(live, desired)).toBe(expected);
  });

  it('is true of any manifest and itself, whatever is added to the object', () => {
    const value = jsonValue({ maxDepth: 4 });
    assert(
      property(dictionary(string(), value), value, (manifest, extra) => {
        // -0 does not survive JSON.
        const desired: unknown = JSON.parse(JSON.stringify(manifest));
        expect(holds(desired, desired)).toBe(true);
        expect(holds({ ...(desired as object), '\u0000extra': extra }, desired)).toBe(true);
      }),
    );
  });
});

describe('fingerprint', () => {
  it('does not depend on the order of members, and differs with any value', () => {
    expect(fingerprint({ a: 1, b: [2] })).toBe(fingerprint({ b: [2], a: 1 }));
    expect(fingerprint({ a: 1 })).not.toBe(fingerprint({ a: '1' }));
  });
});
