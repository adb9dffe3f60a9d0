import { array, assert, constantFrom, property } from 'fast-check';
import { expect, it } from 'vitest';
import { FieldSet, pathText } from '../../../src/sandbox/apply/field-set.ts';
import { object, untyped } from '../../../src/sandbox/structure.ts';

const element = constantFrom('f:a', 'f:b', 'f:c', 'k:{"name":"x"}', 'v:1');
const fieldSet = array(array(element, { minLength: 1, maxLength: 4 }), { maxLength: 8 }).map((paths) =>
  FieldSet.of(paths),
);

function texts(set: FieldSet): readonly string[] {
  return set.paths().map((path) => path.join('/'));
}

it('survives the way to FieldsV1 and back', () => {
  assert(
    property(fieldSet, (set) => {
      expect(FieldSet.fromFieldsV1(set.toFieldsV1()).toFieldsV1()).toEqual(set.toFieldsV1());
    }),
  );
});

it('does set algebra on paths', () => {
  assert(
    property(fieldSet, fieldSet, (left, right) => {
      const [lefts, rights] = [texts(left), texts(right)];
      expect(texts(left.union(right))).toHaveLength(new Set([...lefts, ...rights]).size);
      expect(texts(left.union(right))).toEqual(expect.arrayContaining([...lefts, ...rights]));
      expect(texts(left.intersection(right))).toEqual(lefts.filter((path) => rights.includes(path)));
      expect(texts(left.difference(right))).toEqual(lefts.filter((path) => !rights.includes(path)));
      expect(left.difference(left).isEmpty).toBe(true);
    }),
  );
});

it('takes away everything below a member when it subtracts recursively', () => {
  const set = FieldSet.of([['f:status', 'f:phase'], ['f:spec'], ['f:spec', 'f:size']]);
  expect(texts(set.recursiveDifference(FieldSet.of([['f:status']])))).toEqual(['f:spec', 'f:spec/f:size']);
});

it('writes a path that is a member and has members below it with a dot', () => {
  expect(FieldSet.of([['f:a'], ['f:a', 'f:b']]).toFieldsV1()).toEqual({ 'f:a': { '.': {}, 'f:b': {} } });
});

it('reads a list key whatever the order of its fields', () => {
  const set = FieldSet.fromFieldsV1({ 'k:{"protocol":"TCP","port":80}': {} });
  expect(texts(set)).toEqual(['k:{"port":80,"protocol":"TCP"}']);
});

it('adds named fields on the way to a member, and no map keys', () => {
  const structure = object({ spec: object({ map: object({}) }), other: untyped });
  const set = FieldSet.of([['f:spec', 'f:map', 'f:key', 'f:inner']]);
  expect(texts(set.withNamedFields(structure))).toEqual(['f:spec', 'f:spec/f:map', 'f:spec/f:map/f:key/f:inner']);
});

it('spells a path as conflict causes do', () => {
  expect(pathText(['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:name'])).toBe(
    '.spec.ports[port=80,protocol="TCP"].name',
  );
  expect(pathText(['f:metadata', 'f:finalizers', 'v:"a"'])).toBe('.metadata.finalizers[="a"]');
});
