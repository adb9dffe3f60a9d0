import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { AdminClient } from '../../src/cli/admin-client.ts';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { defineKinds, untilServed } from '../../src/kube/define-kinds.ts';
import { mintToken } from '../../src/protocol/token.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import {
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_VALUE,
  OPERATOR_NAMESPACE,
  OPS_API_VERSION,
} from '../../src/resources/labels.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import type { Secret } from '../../src/runtime/secret.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import type { DemoMode, Progress } from './progress.ts';
import { Program } from './program.ts';
import { lookForTraces } from './traces.ts';
import { hasFlux, refuseIfInUse } from './usable-cluster.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FIELD_MANAGER = 'demo';

export interface ClusterSpec {
  readonly slug: string;
  readonly connectivityMode: DemoMode;
  readonly allowedNamespaces: readonly string[];
}

/** Everything that the demo runs: a control plane, a cluster and its operator, each a process of its own. */
export interface Stage extends AsyncDisposable {
  readonly folder: string;
  readonly controlPlaneUrl: string;
  readonly adminToken: Secret;
  readonly admin: AdminClient;
  readonly kubeconfig: string;
  readonly api: ClusterApi;
  readonly clusterId: string;
  readonly slug: string;
  readonly mode: DemoMode;
  /** Arguments of kubectl that take away what stays in a cluster that is not the demo's own. */
  readonly stays: readonly string[];
}

export interface StageDeps {
  readonly progress: Progress;
  /** Of a cluster to use instead of the sandbox. */
  readonly kubeconfig: string | undefined;
  /** Asked when the stage is taken down: leave the folder with its logs? */
  readonly keepFolder: () => boolean;
  /** Leave what was made in a cluster that is not the demo's own. */
  readonly keepTraces: boolean;
  readonly cluster: ClusterSpec & Readonly<Record<string, unknown>>;
}

/** Starts the programs in a temporary folder, installs the custom resources and registers the cluster. */
export async function setStage(deps: StageDeps): Promise<Stage> {
  // A file that cannot be read is said before anything is started.
  if (deps.kubeconfig !== undefined) {
    await access(deps.kubeconfig, constants.R_OK).catch((cause: unknown) => {
      throw new Error(`--kubeconfig ${deps.kubeconfig}: there is no such file, or it cannot be read`, { cause });
    });
    // Nor is anything left behind for a cluster that is not to be used.
    await using given = connect(deps.kubeconfig);
    await hasFlux(given);
    await refuseIfInUse(given);
  }
  const { progress } = deps;
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'service-demo-'));
  started.defer(async () => {
    if (!deps.keepFolder()) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  const adminToken = mintToken('svcadm', randomBytes);

  const starting = [
    startControlPlane(folder, adminToken),
    ...(deps.kubeconfig === undefined ? [startSandbox(folder)] : []),
  ];
  // When one of them fails, the others are ended all the same.
  for (const program of await Promise.allSettled(starting))
    if (program.status === 'fulfilled') started.use(program.value);
  const [controlPlane, sandbox] = await Promise.all(starting);
  if (controlPlane === undefined) throw new Error('no control plane was started');
  const controlPlaneUrl = urlIn(controlPlane.readyLine);
  progress.note(`control plane  ${controlPlaneUrl}`);
  const kubeconfig = deps.kubeconfig ?? join(folder, 'kubeconfig');
  const api = started.use(connect(kubeconfig));
  progress.note(
    `cluster        ${sandbox === undefined ? (await api.version()).gitVersion : `sandbox, ${kubeconfig}`}`,
  );

  if (sandbox !== undefined) await defineKinds(api, fluxCrds(), { fieldManager: FIELD_MANAGER, clock: systemClock });
  if (await hasFlux(api)) progress.note("releases       this cluster's own Flux");
  else {
    started.use(await startReleaseController(folder, kubeconfig));
    progress.note('releases       a stand-in for Flux: it plays the charts, no container is started');
  }

  const traces = sandbox === undefined ? await lookForTraces(api, deps.cluster) : undefined;

  const admin = new AdminClient({ baseUrl: controlPlaneUrl, token: adminToken });
  await admin.call('PUT', '/catalog/podinfo', parse(await readFile(join(import.meta.dirname, 'catalog.yaml'), 'utf8')));
  const created = await admin.call<{ cluster: { id: string }; registrationToken: string }>(
    'POST',
    '/clusters',
    deps.cluster,
  );
  await prepareCluster(api, deps.cluster, controlPlaneUrl, created.registrationToken);
  // After the operator has ended, which would bring them back.
  if (traces !== undefined && !deps.keepTraces) started.defer(traces.remove);
  started.use(await startOperator(folder, kubeconfig));
  await untilConnected(admin, created.cluster.id);
  progress.note(`operator       registered as ${created.cluster.id} (${deps.cluster.slug})`);
  if (sandbox === undefined)
    progress.note('               a process beside this one, with the rights of that kubeconfig; no role is installed');

  const held = started.move();
  return {
    folder,
    controlPlaneUrl,
    adminToken,
    admin,
    kubeconfig,
    api,
    clusterId: created.cluster.id,
    slug: deps.cluster.slug,
    mode: deps.cluster.connectivityMode,
    stays: traces?.stays ?? [],
    [Symbol.asyncDispose]: async () => await held.disposeAsync(),
  };
}

function connect(kubeconfig: string): ReturnType<typeof connectCluster> {
  return connectCluster({
    kubeconfig: { kind: 'file', path: kubeconfig },
    userAgent: 'service-demo',
    clock: systemClock,
    random: Math.random,
    logger: createLogger('demo', 'silent'),
  });
}

async function startControlPlane(folder: string, adminToken: Secret): Promise<Program> {
  return await Program.start({
    name: 'control plane',
    args: [join(ROOT, 'src/control-plane/main.ts')],
    env: {
      SERVICE_LISTEN: '127.0.0.1:0',
      SERVICE_DATA_DIR: join(folder, 'control-plane'),
      SERVICE_ADMIN_TOKEN: adminToken.expose(),
      // Batches of 20 ms make more posts than the default allows.
      SERVICE_RATE_LIMIT_EVENTS: '1000',
    },
    logFile: join(folder, 'control-plane.log'),
    startTimeoutMs: 60_000,
    readyLine: /http:\/\//,
  });
}

export async function startSandbox(folder: string): Promise<Program> {
  return await Program.start({
    name: 'sandbox',
    args: [join(ROOT, 'src/sandbox/main.ts'), '--kubeconfig', join(folder, 'kubeconfig')],
    env: {},
    logFile: join(folder, 'sandbox.log'),
    startTimeoutMs: 60_000,
    readyLine: /kubeconfig/,
  });
}

export async function startReleaseController(folder: string, kubeconfig: string): Promise<Program> {
  return await Program.start({
    name: 'release controller',
    args: [join(ROOT, 'src/sandbox/release-controller/main.ts'), '--kubeconfig', kubeconfig],
    env: {},
    logFile: join(folder, 'release-controller.log'),
    startTimeoutMs: 60_000,
    readyLine: /ready/,
  });
}

export async function startOperator(folder: string, kubeconfig: string): Promise<Program> {
  const stateDir = join(folder, 'operator');
  await mkdir(stateDir, { recursive: true });
  return await Program.start({
    name: 'operator',
    args: [join(ROOT, 'src/operator/main.ts')],
    env: {
      SERVICE_OPERATOR_KUBECONFIG: kubeconfig,
      SERVICE_OPERATOR_STATE_DIR: stateDir,
      SERVICE_OPERATOR_LISTEN: '127.0.0.1:0',
    },
    logFile: join(folder, 'operator.log'),
    startTimeoutMs: 60_000,
  });
}

/** What a cluster's admin does once: custom resources, namespaces, and the Cluster resource with its token. */
export async function prepareCluster(
  api: ClusterApi,
  cluster: Pick<ClusterSpec, 'slug' | 'allowedNamespaces'>,
  baseUrl: string,
  token: string,
): Promise<void> {
  const apply = async (object: KubeObject): Promise<void> => {
    await api.apply(object, { fieldManager: FIELD_MANAGER, force: true });
  };
  const files = (await readdir(join(ROOT, 'crds'))).filter((file) => file.endsWith('.yaml'));
  const definitions: KubeObject[] = [];
  for (const file of files.toSorted()) {
    for (const document of parseAllDocuments(await readFile(join(ROOT, 'crds', file), 'utf8'))) {
      const definition = document.toJS() as KubeObject;
      await apply(definition);
      definitions.push(definition);
    }
  }
  await untilServed(api, definitions, { clock: systemClock });
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } });
  for (const name of cluster.allowedNamespaces) {
    await apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE } },
    });
  }
  await apply({
    apiVersion: OPS_API_VERSION,
    kind: 'Cluster',
    metadata: { name: cluster.slug, namespace: OPERATOR_NAMESPACE },
    spec: { controlPlaneBaseUrl: baseUrl, registration: { token } },
  });
}

export async function untilConnected(admin: AdminClient, id: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const cluster = await admin.call<{ status: string; lastContactAt?: string }>('GET', `/clusters/${id}`);
    if (cluster.status === 'Active' && cluster.lastContactAt !== undefined) return;
    if (Date.now() > deadline)
      throw new Error(`the operator did not register within 60 s: cluster ${id} is ${cluster.status}`);
    await systemClock.sleep(20);
  }
}

function urlIn(line: string): string {
  const found = /https?:\/\/[^\s"]+/.exec(line)?.[0];
  if (found === undefined) throw new Error(`no URL in the control plane's first line: ${line}`);
  return found.replace(/\/$/, '');
}

/** Writes the admin token where `--keep` tells its user to look, readable by that user alone. */
export async function writeAdminToken(stage: Stage): Promise<string> {
  const file = join(stage.folder, 'admin-token');
  await writeFile(file, `${stage.adminToken.expose()}\n`, { mode: 0o600 });
  return file;
}
