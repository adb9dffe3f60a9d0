import * as fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { objectIdempotencyKey } from '../../src/protocol/idempotency-key.ts';
import { isClusterId, newClusterId, newId } from '../../src/protocol/ids.ts';
import { EntryName, NamespaceName, ObjectName, SemverVersion, Slug } from '../../src/protocol/names.ts';

const random = fc.uint8Array({ minLength: 10, maxLength: 10 });

describe('ids', () => {
  it('of clusters are c- and 16 characters of Crockford base32', () => {
    fc.assert(
      fc.property(random, (bytes) => {
        const id = newClusterId(() => bytes);
        expect(id).toMatch(/^c-[0-9abcdefghjkmnpqrstvwxyz]{16}$/);
        expect(isClusterId(id)).toBe(true);
      }),
    );
    expect(newClusterId(() => new Uint8Array(10))).toBe('c-0000000000000000');
    expect(newClusterId(() => new Uint8Array(10).fill(255))).toBe('c-zzzzzzzzzzzzzzzz');
    expect(newClusterId(() => Uint8Array.from([0, 0, 0, 0, 1, 0xf8, 0, 0, 0, 0]))).toBe('c-00000001z0000000');
  });

  it.each([
    'c-',
    'c-000000000000000',
    'c-00000000000000000',
    'C-0000000000000000',
    'c-000000000000000i',
    'c-../../etc/passwd',
  ])('refuses %s as a cluster id', (text) => {
    expect(isClusterId(text)).toBe(false);
  });

  it('sort by time and are DNS labels of at most 40 characters', () => {
    const date = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(date, date, random, random, (a, b, left, right) => {
        fc.pre(a.getTime() !== b.getTime());
        const [first, second] = [newId('int', a, () => left), newId('int', b, () => right)];
        expect(first < second).toBe(a < b);
        expect(first).toMatch(/^[a-z][-a-z0-9]{0,38}[a-z0-9]$/);
      }),
    );
    expect(newId('abcdefghijklm', new Date(), (n) => new Uint8Array(n)).length).toBe(40);
  });

  it.each(['', 'Int', '1x', 'a-b', 'abcdefghijklmn'])('refuse the prefix %j', (prefix) => {
    expect(() => newId(prefix, new Date(0), (n) => new Uint8Array(n))).toThrow(TypeError);
  });
});

describe('names', () => {
  const bad = ['', '-a', 'a-', 'A', 'a_b', 'a.b', 'a/b', '../b', 'a\n', '\na', 'a b', 'ä', 'a\u0000', '.git', 'а'];

  it.each([
    ['Slug', Slug, 40],
    ['NamespaceName', NamespaceName, 63],
    ['ObjectName', ObjectName, 53],
    ['EntryName', EntryName, 63],
  ] as const)('%s takes labels of its length only', (_name, schema, longest) => {
    const { Check } = { Check: (text: string) => Compile(schema).Check(text) };
    expect(['a', '0', 'a-b', 'a--b', 'a'.repeat(longest)].filter((text) => !Check(text))).toEqual([]);
    expect([...bad, 'a'.repeat(longest + 1)].filter(Check)).toEqual([]);
  });

  it('SemverVersion takes exact versions only', () => {
    const version = Compile(SemverVersion);
    const good = ['0.0.0', '6.5.0', '1.2.3-rc.1', '1.2.3+build.5', '1.2.3-0a.b+1'];
    expect(good.filter((text) => !version.Check(text))).toEqual([]);
    const wrong = [
      'v1.2.3',
      '1.2',
      '1.2.x',
      '>=1.2.3',
      '^1.0.0',
      '01.2.3',
      '1.2.3-01',
      '1.2.3\n',
      'latest',
      '1.2.3 || 2',
    ];
    expect(wrong.filter((text) => version.Check(text))).toEqual([]);
  });
});

describe('objectIdempotencyKey', () => {
  it('is the one of the specification, kind in lower case', () => {
    expect(objectIdempotencyKey('ApplicationInstance', 'shop', 'podinfo', 7)).toBe(
      'applicationinstance/shop/podinfo@7',
    );
  });
});
