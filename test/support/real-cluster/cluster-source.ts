import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** Binaries of a cluster on this machine. */
export interface AssetsSource {
  readonly kind: 'assets';
  /** Where they come from, in the words of the line that a run prints. */
  readonly origin: 'own build' | 'KUBEBUILDER_ASSETS';
  readonly etcd: string;
  readonly apiserver: string;
  readonly controllerManager?: string;
}

/** A container engine and an image that holds a cluster: container-cluster.ts has the contract. */
export interface ContainerSource {
  readonly kind: 'container';
  readonly image: string;
}

export type ClusterSource = AssetsSource | ContainerSource;

/** The image used where an engine is there and none is named: any registry that mirrors Docker Hub has it. */
export const DEFAULT_IMAGE = 'rancher/k3s:v1.35.0-k3s1';

/**
 * Where a real cluster can come from on this machine: KUBEBUILDER_ASSETS, what test/kube/build.sh made, a container
 * engine. SERVICE_TEST_CLUSTER_SOURCE (`assets`, `container`) takes one of them alone.
 */
export function realClusterSource(env: NodeJS.ProcessEnv = process.env): ClusterSource | undefined {
  const only = env['SERVICE_TEST_CLUSTER_SOURCE'] ?? '';
  if (!['', 'assets', 'container'].includes(only)) {
    throw new Error(`SERVICE_TEST_CLUSTER_SOURCE is "${only}"; it takes "assets" or "container"`);
  }
  const assets = only === 'container' ? undefined : (namedAssets(env) ?? builtAssets(env));
  return assets ?? (only === 'assets' ? undefined : container(env));
}

/** envtest's convention: a folder with `etcd` and `kube-apiserver`; what is named and not there is a mistake. */
function namedAssets(env: NodeJS.ProcessEnv): AssetsSource | undefined {
  const folder = env['KUBEBUILDER_ASSETS'] ?? '';
  if (folder === '') return undefined;
  const found = assetsIn(folder, 'KUBEBUILDER_ASSETS', undefined);
  if (found === undefined) throw new Error(`KUBEBUILDER_ASSETS is ${folder}, which lacks etcd or kube-apiserver`);
  return found;
}

function builtAssets(env: NodeJS.ProcessEnv): AssetsSource | undefined {
  const caches = env['XDG_CACHE_HOME'] ?? join(env['HOME'] ?? homedir(), '.cache');
  const own = env['SERVICE_KUBE_CACHE'] ?? join(caches, 'service-kube');
  const onPath = (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'etcd'));
  for (const folder of [own, join(dirname(own), 'kube-assets')]) {
    const found = assetsIn(join(folder, 'bin'), 'own build', onPath.find(isProgram));
    if (found !== undefined) return found;
  }
  return undefined;
}

function assetsIn(folder: string, origin: AssetsSource['origin'], otherEtcd: string | undefined) {
  const program = (name: string): string | undefined => [join(folder, name)].find(isProgram);
  const etcd = program('etcd') ?? otherEtcd;
  const apiserver = program('kube-apiserver');
  const controllerManager = program('kube-controller-manager');
  if (etcd === undefined || apiserver === undefined) return undefined;
  return {
    kind: 'assets' as const,
    origin,
    etcd,
    apiserver,
    ...(controllerManager === undefined ? {} : { controllerManager }),
  };
}

function container(env: NodeJS.ProcessEnv): ContainerSource | undefined {
  const image = env['SERVICE_TEST_KUBE_IMAGE'] ?? '';
  const engine = (env['DOCKER_HOST'] ?? '') !== '' || existsSync('/var/run/docker.sock');
  return engine ? { kind: 'container', image: image === '' ? DEFAULT_IMAGE : image } : undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
