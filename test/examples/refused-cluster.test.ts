import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareCluster } from '../../examples/first-app/stage.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { defineKinds } from '../../src/kube/define-kinds.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';

const run = promisify(execFile);
const DEMO = join(import.meta.dirname, '../../examples/first-app/main.ts');

let sandbox: Sandbox;
let folder: string;

beforeEach(async () => {
  sandbox = await startSandbox();
  folder = await mkdtemp(join(tmpdir(), 'refused-cluster-'));
  await writeFile(join(folder, 'kubeconfig'), sandbox.kubeconfig(), { mode: 0o600 });
});
afterEach(async () => {
  await sandbox[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** What the demo said of the cluster. Whatever it makes for itself is made in `folder`. */
async function refusalOfDemo(): Promise<unknown> {
  const env = { ...process.env, TMPDIR: folder };
  return await run(process.execPath, [DEMO, '--kubeconfig', join(folder, 'kubeconfig')], { env }).catch(
    (fault: unknown) => fault,
  );
}

describe('a cluster that the demo does not take', () => {
  it('is refused before anything is started: no folder with a database and a key stays', async () => {
    await using api = connectCluster({
      kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
      userAgent: 'test',
      clock: systemClock,
      random: Math.random,
    });
    await defineKinds(api, fluxCrds(), { fieldManager: 'test', clock: systemClock });
    const used = { slug: 'used', connectivityMode: 'gitops', allowedNamespaces: [] } as const;
    await prepareCluster(api, used, 'https://control.example.com', 'x');
    expect(await refusalOfDemo()).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^demo: this cluster is registered already \(Cluster service-system\/used\)/),
    });
    expect(await readdir(folder)).toEqual(['kubeconfig']);
  });

  it('is refused so too where it does not serve Flux, or does not answer', async () => {
    expect(await refusalOfDemo()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('install Flux there first'),
    });
    await sandbox[Symbol.asyncDispose]();
    expect(await refusalOfDemo()).toMatchObject({ code: 1, stdout: '' });
    expect(await readdir(folder)).toEqual(['kubeconfig']);
  });
});
