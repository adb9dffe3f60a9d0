import { describe, expect, it } from 'vitest';
import {
  isReleaseVersion,
  operatorSupport,
  operatorVersionIn,
  supportedMinors,
} from '../../src/protocol/version-skew.ts';

describe('versions that work together', () => {
  it.each([
    ['0.4.1', '0.4.9', 'supported'],
    ['0.4.1', '0.3.0', 'supported'],
    ['0.4.1', '0.2.7', 'supported'],
    ['0.4.1', '0.2.0-rc.1', 'supported'],
    ['0.4.1', '0.1.9', 'tooOld'],
    ['0.4.1', '0.5.0', 'newer'],
    ['0.4.1', '1.0.0', 'newer'],
    ['1.0.0', '0.9.0', 'tooOld'],
    ['0.4.1', 'main', undefined],
    ['main', '0.4.1', undefined],
  ])('control plane %s finds operator %s %s', (controlPlane, operator, support) => {
    expect(operatorSupport(controlPlane, operator)).toBe(support);
  });

  it('are named in words', () => {
    expect([supportedMinors('0.4.1'), supportedMinors('0.1.0'), supportedMinors('main')]).toEqual([
      '0.2 to 0.4',
      '0.0 to 0.1',
      'none',
    ]);
  });

  it('are such that an image can be tagged with', () => {
    expect(
      ['0.2.0', '0.2.0-rc.1', 'v0.2.0', '0.2', '0.2.0+build', ' 0.2.0', '01.2.0', ''].map(isReleaseVersion),
    ).toEqual([true, true, false, false, false, false, false, false]);
  });

  it('are read from the User-Agent of an operator and of no other client', () => {
    const agents = ['service-operator/0.2.0', 'service-operator/0.2.0 x', 'curl/8.0.0', 'service-operator/', undefined];
    expect(agents.map(operatorVersionIn)).toEqual(['0.2.0', undefined, undefined, undefined, undefined]);
  });
});
