import { describe, expect, it } from 'vitest';
import { manifestText, sortMembers } from '../../src/intent/manifest-text.ts';

describe('manifestText', () => {
  // Each was read otherwise by some reader: PyYAML, libyaml or go-yaml.
  it.each([
    ['a\tb', 'a: "a\\tb"\n'],
    ['-_3', 'a: "-_3"\n'],
    ['1_000', 'a: "1_000"\n'],
    ['12:30:45', 'a: "12:30:45"\n'],
    ['0o7', 'a: "0o7"\n'],
    ['1e3', 'a: "1e3"\n'],
    ['2020-01-01', 'a: "2020-01-01"\n'],
    ['no', 'a: "no"\n'],
    ['Y', 'a: "Y"\n'],
    ['=', 'a: "="\n'],
    ['a\u0085b', 'a: "a\\u0085b"\n'],
    ['\ufeffa', 'a: "\\ufeffa"\n'],
    ['a\r\nb', 'a: "a\\r\\nb"\n'],
  ])('quotes %j', (text, expected) => {
    expect(manifestText({ a: text })).toBe(expected);
  });

  it('leaves what is plain to everyone as it is', () => {
    expect(manifestText({ a: '6.5.0', b: 'oci://host/x', c: 'a b', d: 'ghcr.io/x:1.2.3', e: 'it’s ok' })).toBe(
      'a: 6.5.0\nb: oci://host/x\nc: a b\nd: ghcr.io/x:1.2.3\ne: it’s ok\n',
    );
  });

  it('writes a text of several lines as a block, where every reader gives it back', () => {
    expect(manifestText({ conf: 'server {\n  listen 80;\n}\n' })).toBe('conf: |\n  server {\n    listen 80;\n  }\n');
    expect(manifestText({ conf: '  indented\nfirst' })).toBe('conf: "  indented\\nfirst"\n');
    expect(manifestText({ conf: 'trailing \nspace' })).toBe('conf: "trailing\\ \\nspace"\n');
  });

  it.each([
    [1e21, '1.0e+21'],
    [1e20, '1.0e+20'],
    [1e-7, '1.0e-7'],
    [-1.5e-9, '-1.5e-9'],
    [2 ** 53, '9.007199254740992e+15'],
    [2 ** 53 - 1, '9007199254740991'],
    [-0, '0'],
    [0.1, '0.1'],
  ])('writes the number %d as every reader takes it', (number, expected) => {
    expect(manifestText({ a: number })).toBe(`a: ${expected}\n`);
  });

  it('repeats a shared value instead of pointing at it', () => {
    const shared = { x: 1 };
    expect(manifestText({ a: shared, b: shared })).toBe('a:\n  x: 1\nb:\n  x: 1\n');
  });
});

describe('sortMembers', () => {
  it('sorts at every depth, keeps lists in order, and drops what is undefined', () => {
    const sorted = sortMembers({ b: [{ d: 1, c: 2 }, 1], a: undefined, A: null });
    expect(JSON.stringify(sorted)).toBe('{"A":null,"b":[{"c":2,"d":1},1]}');
  });
});
