import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const DEMO = join(import.meta.dirname, '..', '..', 'examples', 'first-app', 'main.ts');

interface Told {
  readonly ok: boolean;
  readonly applications: number;
  readonly switches: readonly {
    readonly from: string;
    readonly to: string;
    readonly uidsKept: number;
    readonly deleted: readonly string[];
    readonly writesPerObject: readonly [number, number];
    readonly intents: Readonly<Record<string, number>>;
    readonly phases: readonly { readonly state: string; readonly ms: number }[];
    readonly credentials: readonly { readonly kind: string; readonly change: string }[];
  }[];
}

describe('examples/mode-switch', () => {
  it(
    'takes 50 applications round all modes as the same objects, with one delete each',
    { timeout: 300_000 },
    async () => {
      const { stdout } = await run(process.execPath, [DEMO, '--scenario', 'mode-switch', '--json'], {
        timeout: 290_000,
      });
      const told = JSON.parse(stdout) as Told;
      expect({ ok: told.ok, applications: told.applications }).toEqual({ ok: true, applications: 50 });
      const changes = told.switches.map(({ from, to, uidsKept, deleted }) => ({ from, to, uidsKept, deleted }));
      expect(changes).toEqual([
        { from: 'pull', to: 'push', uidsKept: 49, deleted: ['app-01'] },
        { from: 'push', to: 'gitops', uidsKept: 48, deleted: ['app-02'] },
        { from: 'gitops', to: 'pull', uidsKept: 47, deleted: ['app-03'] },
      ]);
      for (const { intents, writesPerObject, phases } of told.switches) {
        expect(intents).toEqual({ ready: 5, removed: 1 });
        expect(writesPerObject[1]).toBeLessThanOrEqual(4);
        expect(phases.map(({ state }) => state)).toEqual(
          expect.arrayContaining(['fencing', 'handing-over', 'confirming']),
        );
      }
      const revoked = told.switches.map(({ credentials }) =>
        credentials.flatMap(({ kind, change }) => (change === 'revoked' ? [kind] : [])),
      );
      expect(revoked).toEqual([[], ['push'], ['git-read']]);
    },
  );

  it('is one of the scenarios, and takes no other arguments than --json', async () => {
    const refused = async (...args: string[]): Promise<unknown> =>
      await run(process.execPath, [DEMO, ...args]).catch((fault: unknown) => fault);
    expect(await refused('--scenario', 'other')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('must be first-app, mode-switch, operations'),
    });
    expect(await refused('--scenario', 'mode-switch', '--keep')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('takes --json and nothing else'),
    });
  });
});
