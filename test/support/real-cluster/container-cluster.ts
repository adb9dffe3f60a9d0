import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Json } from '../cluster-contract/kube-http.ts';
import { answered, newAdminToken, requestToken, writeConfigFile, writeKubeconfig } from './cluster-kubeconfig.ts';
import type { ContainerSource } from './cluster-source.ts';
import { freePorts } from './free-ports.ts';
import type { RealCluster, RealClusterOptions } from './running-cluster.ts';

/*
 * A cluster in a container, of any image that serves the Kubernetes API.
 *
 * An image whose name holds `k3s` is run as k3s asks to be. Every other one is taken for an image of etcd,
 * kube-apiserver and kube-controller-manager, and must keep to this:
 *
 *   network       the host's; it listens on 127.0.0.1 alone
 *   environment   SERVICE_KUBE_API_PORT, SERVICE_KUBE_ETCD_PORT, SERVICE_KUBE_ETCD_PEER_PORT, SERVICE_KUBE_MANAGER_PORT:
 *                 the ports to take, all free
 *                 SERVICE_KUBE_CONTROLLER_MANAGER: 1 to run the controller manager too, else 0
 *                 SERVICE_KUBE_API_FLAGS: further flags of kube-apiserver, one a line, possibly empty
 *   audit         when /service-kube/audit-policy.json is there at the start, the API server takes it as its audit
 *                 policy and writes /service-kube/audit/audit.log (mode `blocking`); that folder is mounted then
 *   kubeconfig    /service-kube/admin.kubeconfig: `server: https://127.0.0.1:<port>`, the CA as data, and a token or
 *                 certificate of a member of system:masters that outlives a restart of the container
 *   ready         when that file can be read and /readyz answers `ok`
 *   restart       the container keeps its state, keys and tokens when it is stopped and started again
 *   end           SIGTERM ends all its programs within ten seconds
 *
 * The engine is the one that DOCKER_HOST names, or that listens at /var/run/docker.sock.
 */
const FOLDER = '/service-kube';
const READY_WITHIN_MS = 180_000;

interface Profile {
  readonly kubeconfig: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** On a network of its own behind this port of the host; otherwise on the host's. */
  readonly mappedPort?: number;
  /** etcd's client address, where it can be reached from here. */
  readonly etcdUrl?: string;
}

/** Starts the image of `source`; the container goes when the cluster is disposed of or this process ends. */
export async function startContainerCluster(
  source: ContainerSource,
  options: RealClusterOptions,
): Promise<RealCluster> {
  // testcontainers' own reaper is an image from a registry; the watchdog below does its work without one.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers');
  const folder = await mkdtemp(join(tmpdir(), 'service-kube-'));
  const ports = await freePorts(4);
  const profile = source.image.includes('k3s') ? k3s(ports, options) : own(ports, options);
  let image = new GenericContainer(source.image)
    .withEnvironment({ ...profile.environment })
    .withStartupTimeout(READY_WITHIN_MS)
    .withWaitStrategy(Wait.forSuccessfulCommand(`test -s ${profile.kubeconfig}`));
  if (profile.command.length > 0) image = image.withCommand([...profile.command]);
  if (profile.mappedPort === undefined) image = image.withNetworkMode('host');
  else image = image.withExposedPorts({ container: profile.mappedPort, host: profile.mappedPort }).withPrivilegedMode();
  const auditPolicy = options.auditPolicy;
  if (auditPolicy !== undefined) {
    image = image
      .withBindMounts([{ source: folder, target: `${FOLDER}/audit` }])
      .withCopyContentToContainer([
        { content: JSON.stringify(auditPolicy), target: `${FOLDER}/audit-policy.json`, mode: 0o644 },
      ]);
  }
  const container = await image.start().catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const release = removeWhenWeAreGone(container.getId());
  const client = await getContainerRuntimeClient();
  const engine = client.container.getById(container.getId());
  const dispose = async (): Promise<void> => {
    await engine.remove({ force: true, v: true });
    release();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { output } = await container.exec(['cat', profile.kubeconfig]);
    const access = accessOf(output);
    const adminToken = async (): Promise<string> => tokenIn(output) ?? (await newAdminToken(output));
    const ready = async (): Promise<string> => answered(output, '/readyz', (text) => text === 'ok', READY_WITHIN_MS);
    await ready();
    if (options.controllerManager === true) {
      await answered(output, '/api/v1/namespaces/default/serviceaccounts/default', () => true, READY_WITHIN_MS);
    }
    const version = JSON.parse(await answered(output, '/version', () => true, READY_WITHIN_MS)) as {
      gitVersion: string;
    };
    return {
      ...access,
      kubeconfig: output,
      kubeconfigPath: await writeConfigFile(folder, output),
      adminToken: await adminToken(),
      version: version.gitVersion,
      ...(profile.etcdUrl === undefined ? {} : { etcdUrl: profile.etcdUrl }),
      ...(auditPolicy === undefined ? {} : { auditLogPath: join(folder, 'audit.log') }),
      kubeconfigFor: async (token) => writeKubeconfig(folder, access, token),
      serviceAccountToken: async (namespace, name) => requestToken(output, namespace, name),
      stopApiServer: async () => engine.stop({ t: 10 }),
      startApiServer: async () => {
        await engine.start();
        await ready();
      },
      pauseApiServer: async () => engine.pause(),
      resumeApiServer: async () => engine.unpause(),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function own([api, etcd, peer, manager]: readonly number[], options: RealClusterOptions): Profile {
  return {
    kubeconfig: `${FOLDER}/admin.kubeconfig`,
    command: [],
    etcdUrl: `http://127.0.0.1:${etcd}`,
    environment: {
      SERVICE_KUBE_API_PORT: String(api),
      SERVICE_KUBE_ETCD_PORT: String(etcd),
      SERVICE_KUBE_ETCD_PEER_PORT: String(peer),
      SERVICE_KUBE_MANAGER_PORT: String(manager),
      SERVICE_KUBE_CONTROLLER_MANAGER: options.controllerManager === true ? '1' : '0',
      SERVICE_KUBE_API_FLAGS: (options.apiServerFlags ?? []).join('\n'),
    },
  };
}

/** Its control plane alone: no kubelet, no network, none of the parts that would be pulled from a registry. */
function k3s([api = 0]: readonly number[], options: RealClusterOptions): Profile {
  const audit = [
    `--audit-policy-file=${FOLDER}/audit-policy.json`,
    `--audit-log-path=${FOLDER}/audit/audit.log`,
    '--audit-log-mode=blocking',
  ];
  const flags = [...(options.auditPolicy === undefined ? [] : audit), ...(options.apiServerFlags ?? [])];
  return {
    kubeconfig: '/etc/rancher/k3s/k3s.yaml',
    command: [
      'server',
      `--https-listen-port=${api}`,
      '--disable-agent',
      '--disable=coredns,servicelb,traefik,local-storage,metrics-server',
      ...flags.map((flag) => `--kube-apiserver-arg=${flag.replace(/^--/, '')}`),
    ],
    environment: {},
    mappedPort: api,
  };
}

function accessOf(kubeconfig: string): { readonly url: string; readonly caPem: string } {
  const cluster = (parse(kubeconfig) as Json)['clusters'][0].cluster as Json;
  const caPem = Buffer.from(String(cluster['certificate-authority-data']), 'base64').toString();
  return { url: String(cluster['server']), caPem };
}

function tokenIn(kubeconfig: string): string | undefined {
  const user = (parse(kubeconfig) as Json)['users'][0].user as Json;
  return typeof user['token'] === 'string' ? user['token'] : undefined;
}

/** The pipe to this shell closes when the test process ends, however it ends. */
function removeWhenWeAreGone(container: string): () => void {
  const script = 'read -r _ || docker rm --force --volumes "$0"';
  const watchdog = spawn('/bin/sh', ['-c', script, container], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  watchdog.stdin.on('error', () => undefined);
  watchdog.unref();
  return () => watchdog.stdin.end('done\n');
}
