import { array, assert, constantFrom, dictionary, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPatch } from '../../../src/sandbox/patch/json-patch.ts';

describe('RFC 6902, appendix A', () => {
  const cases: readonly [string, unknown, readonly unknown[], unknown][] = [
    ['adds an object member', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
    [
      'adds an array element',
      { foo: ['bar', 'baz'] },
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    [
      'removes an array element',
      { foo: ['bar', 'qux', 'baz'] },
      [{ op: 'remove', path: '/foo/1' }],
      { foo: ['bar', 'baz'] },
    ],
    ['replaces a value', { baz: 'qux' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo' }],
    [
      'moves a value',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'moves an array element',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'tests values of any type',
      { foo: ['a', 2, 'c'] },
      [{ op: 'test', path: '/foo', value: ['a', 2, 'c'] }],
      { foo: ['a', 2, 'c'] },
    ],
    [
      'escapes ~ and /',
      { '/': 9, '~1': 10 },
      [
        { op: 'test', path: '/~01', value: 10 },
        { op: 'test', path: '/~1', value: 9 },
      ],
      { '/': 9, '~1': 10 },
    ],
    [
      'adds to an array’s end',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc'] }],
      { foo: ['bar', ['abc']] },
    ],
    [
      'copies a value',
      { a: { b: 1 } },
      [
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'replace', path: '/c/b', value: 2 },
      ],
      { a: { b: 1 }, c: { b: 2 } },
    ],
  ];
  it.each(cases)('%s', (_, target, patch, result) => {
    expect(jsonPatch(target, patch)).toEqual(result);
  });

  const refusals: readonly [string, unknown][] = [
    ['a failing test', { op: 'test', path: '/foo', value: 'x' }],
    ['a missing parent', { op: 'add', path: '/a/b', value: 1 }],
    ['an index beyond the end', { op: 'add', path: '/list/3', value: 1 }],
    ['an index with a leading zero', { op: 'add', path: '/list/01', value: 1 }],
    ['the removal of what is absent', { op: 'remove', path: '/absent' }],
    ['the replacement of what is absent', { op: 'replace', path: '/absent', value: 1 }],
    ['an unknown operation', { op: 'merge', path: '/foo', value: 1 }],
    ['a pointer that is none', { op: 'add', path: 'foo', value: 1 }],
    ['a move into itself', { op: 'move', from: '/deep', path: '/deep/er' }],
  ];
  it.each(refusals)('refuses %s', (_, operation) => {
    const target = { foo: 'bar', list: [1, 2], deep: {} };
    expect(() => jsonPatch(target, [operation])).toThrow(
      expect.objectContaining({
        code: 422,
        reason: 'Invalid',
        message: 'the server rejected our request due to an error in our request',
      }),
    );
  });
});

it('never changes its argument', () => {
  assert(
    property(dictionary(constantFrom('a', 'b'), array(integer())), (target) => {
      const before = structuredClone(target);
      jsonPatch(target, [
        { op: 'add', path: '/a', value: [1] },
        { op: 'add', path: '/a/0', value: 0 },
        { op: 'copy', from: '/a', path: '/b' },
      ]);
      expect(target).toEqual(before);
    }),
  );
});
