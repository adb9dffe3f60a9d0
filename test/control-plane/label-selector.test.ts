import { describe, expect, it } from 'vitest';
import { parseLabelSelector } from '../../src/control-plane/label-selector.ts';
import { AppError } from '../../src/protocol/app-error.ts';

describe('parseLabelSelector', () => {
  it('reads what kubectl reads', () => {
    expect(parseLabelSelector('team=shop')).toEqual([{ kind: 'in', name: 'team', values: ['shop'] }]);
    expect(
      parseLabelSelector(' team == shop , env!=dev, tier in (a, b),zone notin (c),example.com/cost-center,! retired '),
    ).toEqual([
      { kind: 'in', name: 'team', values: ['shop'] },
      { kind: 'not-in', name: 'env', values: ['dev'] },
      { kind: 'in', name: 'tier', values: ['a', 'b'] },
      { kind: 'not-in', name: 'zone', values: ['c'] },
      { kind: 'exists', name: 'example.com/cost-center' },
      { kind: 'not-exists', name: 'retired' },
    ]);
    // A label may be called as a word of the grammar, and have no value.
    expect(parseLabelSelector('in in (in),notin,empty=')).toEqual([
      { kind: 'in', name: 'in', values: ['in'] },
      { kind: 'exists', name: 'notin' },
      { kind: 'in', name: 'empty', values: [''] },
    ]);
  });

  it.each([
    ['=shop', 'needs the name of a label here, at character 1, where "=shop" stands'],
    ['team=shop,', 'needs the name of a label here, at character 11, where its end stands'],
    ['team=shop env', 'needs a comma or its end here, at character 11, where "env" stands'],
    ['team in shop', 'needs ( here, at character 9, where "shop" stands'],
    ['team in (shop', 'needs ) here, at character 14, where its end stands'],
    ['team=sh*p', 'needs the value of a label here, at character 6, where "sh*p" stands'],
    ['Example.com/team=a', 'needs the name of a label here, at character 1, where "Example.com/team=a" stands'],
    [`team=${'a'.repeat(64)}`, 'needs the value of a label here, at character 6'],
    ["team='; DROP TABLE clusters", 'needs the value of a label here, at character 6'],
    [Array.from({ length: 33 }, (_, place) => `l${place}`).join(','), 'has more than 32 requirements'],
    [`l in (${Array.from({ length: 65 }, (_, place) => place).join(',')})`, 'has more than 64 values in one list'],
  ])('says of %s where it is wrong, and how one looks', (text, message) => {
    let refused: unknown;
    try {
      parseLabelSelector(text);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(AppError);
    const { code, faults } = refused as AppError;
    expect([code, faults[0]?.path]).toEqual(['constraint_violated', '/label']);
    expect(faults[0]?.message).toContain(message);
    expect(faults[0]?.message).toContain('like team=shop,env!=dev,tier in (a,b),!retired');
  });
});
