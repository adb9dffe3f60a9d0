import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const DEMO = join(import.meta.dirname, '..', '..', 'examples', 'first-app', 'main.ts');

interface DemoOutput {
  readonly ok: boolean;
  readonly cluster: { readonly id: string; readonly mode: string };
  readonly intents: readonly {
    readonly action: string;
    readonly name: string;
    readonly state: string;
    readonly reason?: string;
    readonly commit: string | null;
    readonly jobId: string | null;
    readonly acceptedToDeliveredMs: number;
    readonly acceptedToReadyMs: number | null;
  }[];
  readonly git: { readonly commits: number; readonly path: string };
  readonly audit: { readonly entries: number };
  readonly measured: { readonly acceptedToReadyMs: { readonly count: number } | null };
}

describe('examples/first-app', () => {
  it(
    'takes an install, an upgrade, a failure and an uninstall through the real programs',
    { timeout: 60_000 },
    async () => {
      const { stdout } = await run(process.execPath, [DEMO, '--json'], { timeout: 58_000 });
      const output = JSON.parse(stdout) as DemoOutput;
      expect(output.ok).toBe(true);
      expect(output.cluster).toEqual({ id: expect.stringMatching(/^c-[0-9a-hjkmnp-tv-z]{16}$/), mode: 'gitops' });
      expect(output.intents.map(({ action, name, state }) => ({ action, name, state }))).toEqual([
        { action: 'install', name: 'shop/podinfo', state: 'ready' },
        { action: 'update', name: 'shop/podinfo', state: 'ready' },
        { action: 'update', name: 'shop/podinfo', state: 'failed' },
        { action: 'uninstall', name: 'shop/podinfo', state: 'removed' },
      ]);
      expect(output.intents[2]?.reason).toContain('spec.replicas: Invalid value: -1');
      expect(new Set(output.intents.map((intent) => intent.commit)).size).toBe(4);
      for (const intent of output.intents) expect(intent.commit).toMatch(/^[0-9a-f]{40}$/);
      // The four of the example, and one install and thirteen updates for the figures.
      expect(output.git).toEqual({ commits: 18, path: 'clusters/demo' });
      expect(output.measured.acceptedToReadyMs?.count).toBe(13);
      expect(output.audit.entries).toBeGreaterThanOrEqual(5);
    },
  );

  it('tells in plain lines, through a pipe, each step of each intent', { timeout: 60_000 }, async () => {
    const { stdout } = await run(process.execPath, [DEMO], { timeout: 58_000 });
    const steps = stdout
      .split('\n')
      .flatMap((line) => /^ {2}(accepted|committed|synced|applied|released|reported) +\d+ ms/.exec(line)?.[1] ?? []);
    const all = ['accepted', 'committed', 'synced', 'applied', 'released', 'reported'];
    expect(steps).toEqual([...all, ...all, ...all, ...all]);
    const trees = [...stdout.matchAll(/synced .*directory tree ([0-9a-f]{12})/g)].map((match) => match[1]);
    expect(new Set(trees).size).toBe(4);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('demo: install shop/podinfo 6.5.0');
    expect(stdout).toContain('demo: update shop/podinfo 6.5.0 → 6.6.1');
    expect(stdout).toContain('demo: uninstall shop/podinfo');
    expect(stdout).toContain('with the default event batches of 1000 ms');
  });

  it(
    'goes the pull way with the same end to each intent, and a job where the commit was',
    { timeout: 60_000 },
    async () => {
      const { stdout } = await run(process.execPath, [DEMO, '--mode', 'pull', '--json'], { timeout: 58_000 });
      const output = JSON.parse(stdout) as DemoOutput;
      expect(output).toMatchObject({ ok: true, cluster: { mode: 'pull' }, jobs: { succeeded: 17, failed: 1 } });
      expect(output).not.toHaveProperty('git');
      expect(output.intents.map(({ state }) => state)).toEqual(['ready', 'ready', 'failed', 'removed']);
      expect(output.intents[2]?.reason).toContain('spec.replicas: Invalid value: -1');
      for (const { commit, jobId } of output.intents) {
        expect(commit).toBeNull();
        expect(jobId).toMatch(/^job-/);
      }
    },
  );

  it('names the modes where it is asked for another', async () => {
    const failure = await run(process.execPath, [DEMO, '--mode', 'push']).catch((fault: unknown) => fault);
    expect(failure).toMatchObject({ code: 1, stderr: expect.stringContaining('must be gitops or pull') });
  });

  it('refuses an argument that it does not know, with its usage', async () => {
    const failure = await run(process.execPath, [DEMO, '--jsn']).catch((fault: unknown) => fault);
    expect(failure).toMatchObject({ code: 1, stderr: expect.stringContaining('--kubeconfig FILE') });
  });
});
