import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'postgres-replicas', 'main.ts');

interface Scene {
  readonly accepting: string;
  readonly holding: string;
  readonly intent: { readonly state: string; readonly jobId: string };
}

describe('examples/postgres-replicas', () => {
  it(
    'brings an intent from one replica to the poll at the other, and goes on when one is killed',
    { timeout: 90_000 },
    async () => {
      const { stdout } = await run(process.execPath, [EXAMPLE, '--json'], { timeout: 88_000 });
      const shown = JSON.parse(stdout) as Record<'across' | 'back', Scene> & {
        readonly ok: boolean;
        readonly killed: string;
        readonly alone: Scene['intent'];
        readonly answered: Readonly<Record<string, number>>;
      };
      expect(shown.ok).toBe(true);
      expect([shown.across.accepting, shown.across.holding].sort()).toEqual(['A', 'B']);
      expect(shown.back.accepting).toBe(shown.killed);
      for (const { state, jobId } of [shown.across.intent, shown.alone, shown.back.intent]) {
        expect([state, jobId]).toEqual(['ready', expect.stringMatching(/^job-/)]);
      }
      expect(Object.keys(shown.answered)).toEqual(['A', 'B']);
    },
  );

  it('refuses an argument that it does not know', async () => {
    const failure = await run(process.execPath, [EXAMPLE, '--jsn']).catch((fault: unknown) => fault);
    expect(failure).toMatchObject({ code: 1, stderr: expect.stringContaining('--jsn') as string });
  });
});
