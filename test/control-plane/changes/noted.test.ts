import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../src/control-plane');

/** Files that write such rows without changing what is shown of them, and why. */
const SILENT: Readonly<Record<string, string>> = {
  'approvals/sign-statement.ts': 'the statement alone; `release` tells',
  'store/hosted-proposals.ts': 'when a request on a Git host was looked at',
};

test.each(['intents', 'proposals', 'approvals', 'jobs'])('whoever changes %s tells of it', (table) => {
  const writes = new RegExp(`(updateTable|insertInto)\\('${table}'\\)`);
  const untold = globSync('**/*.ts', { cwd: ROOT }).filter((file) => {
    if (file.startsWith('store/migrations') || file in SILENT) return false;
    const text = readFileSync(join(ROOT, file), 'utf8');
    return writes.test(text) && !/note(Change|Intents|Jobs|Rows)\(/.test(text);
  });
  expect(untold).toEqual([]);
});
