import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ProcessGuard } from '../support/real-cluster/process-guard.ts';

const GUARD = join(import.meta.dirname, '..', 'support', 'real-cluster', 'process-guard.ts');

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it('ends its programs and removes their folder when the process that started them is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'process-guard-'));
  const script = `
    import { ProcessGuard } from ${JSON.stringify(GUARD)};
    const guard = new ProcessGuard(${JSON.stringify(folder)});
    const { pid } = guard.start('/bin/sleep', ['600'], ${JSON.stringify(join(folder, 'log'))});
    console.log(pid);
    setInterval(() => undefined, 1000);
  `;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(said.toString());
  expect(runs(pid)).toBe(true);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  for (let tries = 0; tries < 500 && (runs(pid) || existsSync(folder)); tries += 1) await delay(20);
  expect([runs(pid), existsSync(folder)]).toEqual([false, false]);
});

it('tells who waits for a program that it ended by itself, and why', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'process-guard-'));
  await using guard = new ProcessGuard(folder);
  const program = guard.start('/bin/sh', ['-c', 'echo no port for me >&2; exit 3'], join(folder, 'log'));
  await expect(program.ended).rejects.toThrow(/^\/bin\/sh: it ended with code 3/);
});

it('ends a program that stands still', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'process-guard-'));
  const guard = new ProcessGuard(folder);
  const program = guard.start('/bin/sleep', ['600'], join(folder, 'log'));
  program.signal('SIGSTOP');
  await guard[Symbol.asyncDispose]();
  expect([runs(program.pid), existsSync(folder)]).toEqual([false, false]);
});
