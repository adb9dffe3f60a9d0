import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { metricsTable } from '../../src/control-plane/metrics/metrics.ts';

/** Without what a formatter makes of a table: widths. */
const bare = (table: string): string[] =>
  table
    .trim()
    .split('\n')
    .map((row) => row.replace(/\s+/g, ' ').replace(/-+/g, '-'));

test('docs/metrics.md has every metric as the program says it', () => {
  const text = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const [, table = ''] = /<!-- made from [^>]*-->\n([^]*)<!-- end -->/.exec(text) ?? [];
  expect(bare(table)).toEqual(bare(metricsTable()));
});
