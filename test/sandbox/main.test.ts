import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KubeHttp } from '../support/cluster-contract/kube-http.ts';

it('runs as a program: writes a private kubeconfig, says so in one line, stops on SIGTERM', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-main-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const child = spawn(process.execPath, ['src/sandbox/main.ts', '--kubeconfig', kubeconfig]);
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(line.toString())).toEqual({
      url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      kubeconfig,
    });
    expect((await stat(kubeconfig)).mode & 0o777).toBe(0o600);
    await using http = new KubeHttp(await readFile(kubeconfig, 'utf8'));
    expect((await http.get('/api/v1/namespaces/default')).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});

it('refuses arguments it does not know, with how to call it', async () => {
  const child = spawn(process.execPath, ['src/sandbox/main.ts', '--port', 'x']);
  const [text] = (await once(child.stderr, 'data')) as [Buffer];
  expect(text.toString()).toContain('usage: node src/sandbox/main.ts');
  expect(await once(child, 'exit')).toEqual([2, null]);
});
