import { describe, expect, it } from 'vitest';
import { parseExactJson } from '../../src/protocol/exact-json.ts';

describe('parseExactJson', () => {
  it('keeps names of one escaped character apart, whatever objects were made before', () => {
    const names = ['\\', '"', '\n', '\t', '/', '\u0000'];
    // What confuses the engine's own parser: objects that begin with each name.
    const seen = names.map((name) => ({ [name]: 1 }));
    for (const object of seen) expect(parseExactJson(JSON.stringify(object))).toEqual(object);
    for (const name of names) {
      expect(Object.keys(parseExactJson(`{${JSON.stringify(name)}:1}`) as object)).toEqual([name]);
    }
  });

  it('reads every number that can be written', () => {
    for (const value of [1e20, 2 ** 53, -(2 ** 60), 1e300, 5e-324])
      expect(parseExactJson(JSON.stringify({ value }))).toEqual({ value });
  });

  it('reads a record around values as deep as a request may be', () => {
    const text = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`;
    expect(JSON.stringify(parseExactJson(text))).toBe(text);
  });
});
