import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeValues } from '../../../src/intent/merge-values.ts';
import { sealedShapeOf, withoutSealed } from '../../../src/reconcile/application-instance/sealed-shape.ts';

const map = (depth: number): fc.Arbitrary<Record<string, unknown>> => {
  const leaf = fc.oneof(fc.integer(), fc.constant('x'), fc.constant(null), fc.constant([1]));
  const member = depth === 0 ? leaf : fc.oneof(leaf, map(depth - 1));
  return fc
    .dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), member, { maxKeys: 3 })
    .map((made) => ({ ...made }));
};
const filled = map(2).filter((made) => Object.keys(made).length > 0);

describe('values without what sealed ones set', () => {
  it('merged over the sealed values leave every one of those as it is', () => {
    fc.assert(
      fc.property(map(2), filled, (values, sealed) => {
        const rest = withoutSealed(values, sealedShapeOf(sealed));
        // As Flux merges: valuesFrom first, the inline values over it.
        expect(mergeValues(sealed, rest)).toEqual(mergeValues(mergeValues(rest, sealed), sealed));
        expect(mergeValues(mergeValues(sealed, rest), sealed)).toEqual(mergeValues(sealed, rest));
      }),
    );
  });

  it.each([
    [
      'a default in the same place',
      { auth: { password: '', user: 'a' } },
      { auth: { password: 's' } },
      { auth: { user: 'a' } },
    ],
    ['nothing else', { replicas: 2 }, { auth: { password: 's' } }, { replicas: 2 }],
    ['what stands where a map is sealed', { auth: null, n: 1 }, { auth: { password: 's' } }, { n: 1 }],
    ['a map where a text is sealed', { auth: { user: 'a' }, n: 1 }, { auth: 's' }, { n: 1 }],
    ['a map where an empty one is sealed', { auth: { user: 'a' }, n: 1 }, { auth: {} }, { n: 1 }],
    ['all there was', { auth: { password: '' } }, { auth: { password: 's' } }, undefined],
    ['nothing at all', {}, { a: 1 }, undefined],
  ])('lose %s', (_, values, sealed, rest) => {
    expect(withoutSealed(values, sealedShapeOf(sealed))).toEqual(rest);
  });
});
