import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const SCENARIOS = [
  ...Array.from({ length: 15 }, (_, index) => `A${index + 1}`),
  ...Array.from({ length: 4 }, (_, index) => `S${index + 1}`),
  ...Array.from({ length: 10 }, (_, index) => `G${index + 1}`),
  ...Array.from({ length: 7 }, (_, index) => `R${index + 1}`),
  ...Array.from({ length: 3 }, (_, index) => `M${index + 1}`),
];

/** Scenario and files of each row of the table in docs/testing.md. */
function rows(): readonly { readonly scenario: string; readonly files: readonly string[] }[] {
  return readFileSync(join(ROOT, 'docs/testing.md'), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const scenario = /^\| ([ASGRM]\d+) +\|/.exec(line)?.[1];
      if (scenario === undefined) return [];
      return [{ scenario, files: [...line.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file) }];
    });
}

/** Whether the file has a test, or a group of them, whose name begins with this scenario. */
function names(file: string, scenario: string): boolean {
  return new RegExp(`['"\`]${scenario}: `).test(readFileSync(join(ROOT, file), 'utf8'));
}

it('lists each failure scenario once, with files whose tests are named after it', () => {
  const listed = rows();
  const found = listed.map(({ scenario }) => scenario);
  expect(found).toEqual(SCENARIOS);
  const wrong = listed.flatMap(({ scenario, files }) => files.filter((file) => !names(file, scenario)));
  expect(wrong).toEqual([]);
});

it('lists every file of test/scenarios that tries one', () => {
  const tried = readdirSync(join(ROOT, 'test/scenarios')).filter((file) => /^[asgrm]\d+-.*\.test\.ts$/.test(file));
  const listed = new Set(rows().flatMap(({ files }) => files));
  expect(tried.filter((file) => !listed.has(`test/scenarios/${file}`))).toEqual([]);
});
