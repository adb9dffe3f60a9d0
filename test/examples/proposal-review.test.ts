import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'proposal-review', 'main.ts');

describe('examples/proposal-review', () => {
  it('shows a proposal to ready, and one that goes stale and is approved anew', { timeout: 90_000 }, async () => {
    const { stdout } = await run(process.execPath, [EXAMPLE], { timeout: 88_000 });
    expect(stdout).toContain('her approval   refused: 403 forbidden');
    expect(stdout).toMatch(/\+ +version: ["']?6\.6\.0/);
    expect(stdout).toMatch(/bert approves {2}merged as [0-9a-f]{12}, applied, ready/);
    expect(stdout).toContain('revision 2, 1 approval dropped');
    expect(stdout).toContain('Everything went as expected.');
  });
});
