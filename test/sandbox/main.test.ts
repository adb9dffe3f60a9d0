import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
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

it('has with --flux what an application needs: its release becomes Ready', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-main-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const child = spawn(process.execPath, ['src/sandbox/main.ts', '--flux', '--kubeconfig', kubeconfig]);
  try {
    await once(child.stdout, 'data');
    await using api = connectCluster({
      kubeconfig: { kind: 'file', path: kubeconfig },
      userAgent: 'test',
      clock: systemClock,
      random: Math.random,
    });
    const metadata = { namespace: 'default', name: 'podinfo' };
    const apply = async (object: KubeObject): Promise<unknown> => await api.apply(object, { fieldManager: 'test' });
    const spec = { interval: '1m', url: 'oci://ghcr.io/stefanprodan/charts/podinfo', ref: { tag: '6.5.0' } };
    await apply({ apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'OCIRepository', metadata, spec });
    const chartRef = { kind: 'OCIRepository', name: 'podinfo' };
    const release = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' };
    await apply({ ...release, metadata, spec: { interval: '1m', chartRef } });
    await vi.waitFor(
      async () => {
        const found = await api.get({ ...release, ...metadata });
        const { conditions = [] } = (found?.['status'] ?? {}) as { readonly conditions?: readonly object[] };
        expect(conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
      },
      { timeout: 10_000, interval: 20 },
    );
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});

it('has with --velero what a backup needs: it becomes Completed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-main-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const child = spawn(process.execPath, ['src/sandbox/main.ts', '--velero', '--kubeconfig', kubeconfig]);
  try {
    await once(child.stdout, 'data');
    await using api = connectCluster({
      kubeconfig: { kind: 'file', path: kubeconfig },
      userAgent: 'test',
      clock: systemClock,
      random: Math.random,
    });
    const backup = { apiVersion: 'velero.io/v1', kind: 'Backup' };
    const metadata = { namespace: 'velero', name: 'nightly' };
    await api.create({ ...backup, metadata, spec: { includedNamespaces: ['default'] } }, 'test');
    await vi.waitFor(
      async () => expect((await api.get({ ...backup, ...metadata }))?.['status']).toMatchObject({ phase: 'Completed' }),
      { timeout: 10_000, interval: 20 },
    );
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});

it('says of a file that it cannot write which one, in a line', async () => {
  const child = spawn(process.execPath, ['src/sandbox/main.ts', '--kubeconfig', '/nonexistent/kubeconfig']);
  const [text] = (await once(child.stderr, 'data')) as [Buffer];
  expect(text.toString()).toMatch(/^--kubeconfig \/nonexistent\/kubeconfig: cannot be written \(ENOENT\)\n/);
  expect(await once(child, 'exit')).toEqual([2, null]);
});

it('refuses arguments it does not know, with how to call it', async () => {
  const child = spawn(process.execPath, ['src/sandbox/main.ts', '--port', 'x']);
  const [text] = (await once(child.stderr, 'data')) as [Buffer];
  expect(text.toString()).toContain('usage: node src/sandbox/main.ts');
  expect(await once(child, 'exit')).toEqual([2, null]);
});
