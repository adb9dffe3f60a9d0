import { describe, expect, it } from 'vitest';
import { figuresOf } from '../../examples/first-app/figures.ts';

describe('figuresOf', () => {
  it.each([
    [[995, 130], { count: 2, p50: 563, max: 995 }],
    [[3, 1, 2], { count: 3, p50: 2, max: 3 }],
    [[4, null, 1, 2, 3], { count: 4, p50: 3, max: 4 }],
    [[7], { count: 1, p50: 7, max: 7 }],
  ])('takes the middle of %j, not the smallest', (values, expected) => {
    expect(figuresOf(values)).toEqual(expected);
  });

  it('says nothing of nothing', () => {
    expect(figuresOf([null])).toBeNull();
  });
});
