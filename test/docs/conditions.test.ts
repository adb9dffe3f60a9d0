import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CLUSTER_CONDITIONS } from '../../src/resources/condition-types.ts';
import { Reason } from '../../src/resources/reasons.ts';

const text = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const [, section = ''] = text.split('### Conditions of the Cluster\n');
const [table = ''] = section.split(/\n##+ /);
const rows = table.split('\n').filter((line) => line.startsWith('| `'));

describe('the table of the conditions of a Cluster', () => {
  it('has every one of them, and no other, with what to do', () => {
    const types = rows.map((row) => /^\| `(\w+)=(?:True|False|Unknown)`/.exec(row)?.[1]);
    expect([...new Set(types.map(String))].sort()).toEqual([...CLUSTER_CONDITIONS].sort());
    const cells = rows.map(
      (row) =>
        row
          .split('|')
          .slice(1, -1)
          .filter((cell) => cell.trim() !== '').length,
    );
    expect(new Set(cells)).toEqual(new Set([3]));
  });

  it('names only reasons that there are', () => {
    const names = [...table.matchAll(/`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`/g)].map((match) => match[1] ?? '');
    expect(names.length).toBeGreaterThan(10);
    const known = new Set<string>([...Object.keys(Reason), ...CLUSTER_CONDITIONS]);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });
});
