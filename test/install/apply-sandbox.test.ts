import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderCrds, renderOperator } from '../../src/install/render-install.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';

const missing = spawnSync('kubectl', ['version', '--client']).error !== undefined;
if (missing) process.stderr.write('apply-sandbox.test.ts is skipped: there is no kubectl on the PATH\n');

const files = readInstallFiles();

describe.skipIf(missing)('the manifests, by kubectl on the sandbox', { timeout: 60_000 }, () => {
  let sandbox: Sandbox;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'install-sandbox-'));
    sandbox = await startSandbox();
    await writeFile(join(folder, 'kubeconfig'), sandbox.kubeconfig(), { mode: 0o600 });
  });
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const kubectl = async (...args: string[]): Promise<string[]> =>
    await new Promise((resolve, reject) => {
      const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: join(folder, 'kubeconfig') };
      execFile('kubectl', args, { env, timeout: 30_000 }, (error, out, err) => {
        if (error === null) resolve(out.split('\n').filter((line) => line !== ''));
        else reject(new Error(err, { cause: error }));
      });
    });

  const versions = async (name: string): Promise<string[]> =>
    await kubectl('get', '-f', join(folder, name), '--output=jsonpath={.items[*].metadata.resourceVersion}');

  it('are taken whole, change nothing the second time, and are removed without the definitions', async () => {
    const cluster = { slug: 'prod-eu', baseUrl: 'https://control.example.com' };
    const [crds, operator] = [renderCrds(files), renderOperator(files, { cluster, podDisruptionBudget: 'v1' })];
    await writeFile(join(folder, 'crds.yaml'), crds.text);
    await writeFile(join(folder, 'operator.yaml'), operator.text);
    for (const [name, { objects }] of [
      ['crds.yaml', crds],
      ['operator.yaml', operator],
    ] as const) {
      const first = await kubectl('apply', '-f', join(folder, name));
      expect(first.filter((line) => line.endsWith(' created'))).toHaveLength(objects.length);
      if (name === 'crds.yaml') await kubectl('wait', '--for=condition=Established', 'crd', '--all');
      const before = await versions(name);
      // Not by its words: `kubectl` always says "configured" of a PodDisruptionBudget of policy/v1.
      expect(await kubectl('apply', '-f', join(folder, name))).toHaveLength(objects.length);
      expect(await versions(name)).toEqual(before);
    }
    expect(await kubectl('delete', '-f', join(folder, 'operator.yaml'))).toHaveLength(operator.objects.length);
    expect(await kubectl('get', 'crd', '--output=name')).toEqual([
      'customresourcedefinition.apiextensions.k8s.io/applicationinstances.apps.service.io',
      'customresourcedefinition.apiextensions.k8s.io/clusters.ops.service.io',
      'customresourcedefinition.apiextensions.k8s.io/operations.ops.service.io',
    ]);
    expect(await kubectl('get', 'namespace', 'service-system', '--output=name')).toEqual(['namespace/service-system']);
  });
});
