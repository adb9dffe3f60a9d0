import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareSource, formatSource, parseSource } from '../../src/resources/source-annotation.ts';

const number = fc.nat({ max: 999_999_999_999_999 });

describe('the source annotation', () => {
  it('is read back as it was written', () => {
    fc.assert(
      fc.property(number, number, (epoch, generation) => {
        expect(parseSource(formatSource({ epoch, generation }))).toEqual({ epoch, generation });
      }),
    );
  });

  it.each([undefined, '', '1', '1.', '.1', '1.2.3', '01.2', '1.02', '-1.2', '1.-2', '1e3.2', ' 1.2', '1.2\n', '1,2'])(
    'reads nothing out of %j',
    (text) => {
      expect(parseSource(text)).toBeUndefined();
    },
  );

  it('orders by epoch, then by generation, as numbers', () => {
    const ordered = ['1.9', '1.10', '2.1', '10.1'].map((text) => parseSource(text)!);
    expect(ordered.toReversed().toSorted(compareSource)).toEqual(ordered);
    expect(compareSource({ epoch: 1, generation: 2 }, { epoch: 1, generation: 2 })).toBe(0);
  });
});
