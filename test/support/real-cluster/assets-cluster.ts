import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { answered, kubeconfigWith, requestToken, writeKubeconfig } from './cluster-kubeconfig.ts';
import { createClusterPki, type ClusterPki } from './cluster-pki.ts';
import type { AssetsSource } from './cluster-source.ts';
import { freePorts } from './free-ports.ts';
import { ProcessGuard, type GuardedProcess } from './process-guard.ts';
import type { RealCluster, RealClusterOptions } from './running-cluster.ts';

/** Three API servers may be starting on two cores at once. */
const READY_WITHIN_MS = 100_000;
const ATTEMPTS = 3;

/** Starts the programs of `source`; another process may take a port first, so that is tried anew. */
export async function startAssetsCluster(source: AssetsSource, options: RealClusterOptions): Promise<RealCluster> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = await mkdtemp(join(tmpdir(), 'service-kube-'));
    const guard = new ProcessGuard(folder);
    try {
      return await start(source, options, { folder, guard });
    } catch (error) {
      await guard[Symbol.asyncDispose]();
      const taken = error instanceof Error && /address already in use/.test(error.message);
      if (!taken || attempt === ATTEMPTS) throw error;
    }
  }
}

async function start(
  source: AssetsSource,
  options: RealClusterOptions,
  { folder, guard }: { readonly folder: string; readonly guard: ProcessGuard },
): Promise<RealCluster> {
  const [etcdPort = 0, peerPort = 0, apiPort = 0, managerPort = 0] = await freePorts(4);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const url = `https://127.0.0.1:${apiPort}`;
  const log = (name: string): string => join(folder, `${name}.log`);
  const etcd = guard.start(source.etcd, etcdFlags(folder, etcdUrl, `http://127.0.0.1:${peerPort}`), log('etcd'));
  const pki = await createClusterPki(join(folder, 'pki'));
  const access = { url, caPem: pki.caPem };
  const kubeconfig = kubeconfigWith(access, pki.adminToken);
  const kubeconfigPath = await writeKubeconfig(folder, access, pki.adminToken);
  const audit = await auditFlags(folder, options.auditPolicy);
  const flags = [...apiServerFlags(pki, etcdUrl, apiPort), ...audit.flags, ...(options.apiServerFlags ?? [])];

  let apiServer: GuardedProcess | undefined;
  const startApiServer = async (): Promise<string> => {
    if (apiServer !== undefined) throw new Error('the API server runs already');
    const server = guard.start(source.apiserver, flags, log('kube-apiserver'));
    apiServer = server;
    return Promise.race([
      answered(kubeconfig, '/readyz', (text) => text === 'ok', READY_WITHIN_MS),
      server.ended,
      etcd.ended,
    ]);
  };
  await startApiServer();
  const version = JSON.parse(await answered(kubeconfig, '/version', () => true, READY_WITHIN_MS)) as {
    gitVersion: string;
  };
  if (options.controllerManager === true) {
    if (source.controllerManager === undefined) throw new Error(`${source.origin} has no kube-controller-manager`);
    const manager = guard.start(
      source.controllerManager,
      [...managerFlags(pki, kubeconfigPath, managerPort), ...(await insecurePortFlags(source.controllerManager))],
      log('kube-controller-manager'),
    );
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    await Promise.race([answered(kubeconfig, account, () => true, READY_WITHIN_MS), manager.ended]);
  }
  return {
    url,
    caPem: pki.caPem,
    kubeconfig,
    kubeconfigPath,
    version: version.gitVersion,
    adminToken: pki.adminToken,
    etcdUrl,
    ...(audit.logPath === undefined ? {} : { auditLogPath: audit.logPath }),
    kubeconfigFor: async (token) => writeKubeconfig(folder, access, token),
    serviceAccountToken: async (namespace, name) => requestToken(kubeconfig, namespace, name),
    stopApiServer: async () => {
      const server = apiServer;
      apiServer = undefined;
      await server?.stop();
    },
    startApiServer: async () => void (await startApiServer()),
    pauseApiServer: async () => apiServer?.signal('SIGSTOP'),
    resumeApiServer: async () => apiServer?.signal('SIGCONT'),
    [Symbol.asyncDispose]: async () => guard[Symbol.asyncDispose](),
  };
}

function etcdFlags(folder: string, client: string, peer: string): string[] {
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--name=test',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
    '--log-level=warn',
    '--logger=zap',
  ];
}

function apiServerFlags(pki: ClusterPki, etcdUrl: string, port: number): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${pki.path('server.crt')}`,
    `--tls-private-key-file=${pki.path('server.key')}`,
    `--client-ca-file=${pki.path('ca.crt')}`,
    `--token-auth-file=${pki.path('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    `--requestheader-client-ca-file=${pki.path('ca.crt')}`,
    '--requestheader-allowed-names=front-proxy',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki.path('front-proxy.crt')}`,
    `--proxy-client-key-file=${pki.path('front-proxy.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${pki.path('accounts.key')}`,
    `--service-account-key-file=${pki.path('accounts.pub')}`,
    '--service-cluster-ip-range=10.96.0.0/24',
    '--profiling=false',
  ];
}

function managerFlags(pki: ClusterPki, kubeconfigPath: string, port: number): string[] {
  return [
    `--kubeconfig=${kubeconfigPath}`,
    `--authentication-kubeconfig=${kubeconfigPath}`,
    `--authorization-kubeconfig=${kubeconfigPath}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--leader-elect=false',
    `--service-account-private-key-file=${pki.path('accounts.key')}`,
    `--root-ca-file=${pki.path('ca.crt')}`,
    '--profiling=false',
  ];
}

/** Up to 1.23 it also listens on a fixed port without TLS, which two clusters at once cannot have. */
async function insecurePortFlags(program: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(program, ['--help']);
  return /^ +--port int/m.test(stdout) ? ['--port=0'] : [];
}

async function auditFlags(
  folder: string,
  policy: object | undefined,
): Promise<{ readonly flags: readonly string[]; readonly logPath?: string }> {
  if (policy === undefined) return { flags: [] };
  const policyPath = join(folder, 'audit-policy.json');
  const logPath = join(folder, 'audit.log');
  await writeFile(policyPath, JSON.stringify(policy));
  // Blocking: an answered request is in the log.
  const flags = [`--audit-policy-file=${policyPath}`, `--audit-log-path=${logPath}`, '--audit-log-mode=blocking'];
  return { flags, logPath };
}
