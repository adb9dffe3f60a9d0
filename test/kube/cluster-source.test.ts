import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realClusterSource } from '../support/real-cluster/cluster-source.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'cluster-source-'));
});
afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

async function programs(folder: string, ...names: readonly string[]): Promise<string> {
  const path = join(home, folder);
  await mkdir(path, { recursive: true });
  for (const name of names) await writeFile(join(path, name), '', { mode: 0o755 });
  return path;
}

describe('where a real cluster comes from', () => {
  it('is envtest’s folder first, and without a controller manager where that lacks one', async () => {
    await programs('.cache/service-kube/bin', 'etcd', 'kube-apiserver', 'kube-controller-manager');
    const folder = await programs('assets', 'etcd', 'kube-apiserver');
    expect(realClusterSource({ HOME: home, KUBEBUILDER_ASSETS: folder })).toEqual({
      kind: 'assets',
      origin: 'KUBEBUILDER_ASSETS',
      etcd: join(folder, 'etcd'),
      apiserver: join(folder, 'kube-apiserver'),
    });
  });

  it('is the user’s cache next, with etcd from the PATH where the cache has none', async () => {
    const own = await programs('.cache/service-kube/bin', 'kube-apiserver', 'kube-controller-manager');
    const path = await programs('bin', 'etcd');
    expect(realClusterSource({ HOME: home, PATH: path, DOCKER_HOST: 'unix:///engine' })).toEqual({
      kind: 'assets',
      origin: 'own build',
      etcd: join(path, 'etcd'),
      apiserver: join(own, 'kube-apiserver'),
      controllerManager: join(own, 'kube-controller-manager'),
    });
    expect(realClusterSource({ HOME: home, SERVICE_KUBE_CACHE: join(home, 'empty'), PATH: path })?.kind).not.toBe(
      'assets',
    );
  });

  it('is a container engine last, or alone when that is asked for', async () => {
    await programs('.cache/service-kube/bin', 'etcd', 'kube-apiserver');
    const engine = { HOME: home, DOCKER_HOST: 'unix:///engine', SERVICE_TEST_KUBE_IMAGE: 'kube:test' };
    expect(realClusterSource(engine)?.kind).toBe('assets');
    expect(realClusterSource({ ...engine, SERVICE_TEST_CLUSTER_SOURCE: 'container' })).toEqual({
      kind: 'container',
      image: 'kube:test',
    });
    expect(realClusterSource({ ...engine, SERVICE_KUBE_CACHE: join(home, 'x', 'y') })).toMatchObject({
      kind: 'container',
    });
    const alone = { ...engine, SERVICE_KUBE_CACHE: join(home, 'x', 'y'), SERVICE_TEST_CLUSTER_SOURCE: 'assets' };
    expect(realClusterSource(alone)).toBeUndefined();
  });

  it('is a mistake when what is named is not there', async () => {
    const folder = await programs('assets', 'etcd');
    expect(() => realClusterSource({ HOME: home, KUBEBUILDER_ASSETS: folder })).toThrow(
      `KUBEBUILDER_ASSETS is ${folder}, which lacks etcd or kube-apiserver`,
    );
    expect(() => realClusterSource({ HOME: home, SERVICE_TEST_CLUSTER_SOURCE: 'moon' })).toThrow(
      'SERVICE_TEST_CLUSTER_SOURCE is "moon"; it takes "assets" or "container"',
    );
  });
});
