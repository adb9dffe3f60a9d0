import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { AdminClient } from '../../src/cli/admin-client.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { defineKinds } from '../../src/kube/define-kinds.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import { PostgresServer } from '../../test/support/postgres/postgres-server.ts';
import { freePorts } from '../../test/support/real-cluster/free-ports.ts';
import { Program } from '../first-app/program.ts';
import type { Progress } from '../first-app/progress.ts';
import {
  prepareCluster,
  startOperator,
  startReleaseController,
  startSandbox,
  untilConnected,
  type Stage,
} from '../first-app/stage.ts';
import { RoundRobin } from './round-robin.ts';

const HERE = import.meta.dirname;
const CONTROL_PLANE = join(HERE, '..', '..', 'src', 'control-plane', 'main.ts');

export type ReplicaName = 'A' | 'B';
export const REPLICAS: readonly ReplicaName[] = ['A', 'B'];

export interface Replica {
  readonly name: ReplicaName;
  /** The admin API at this replica, past the proxy. */
  readonly admin: AdminClient;
  /** Ends it as a machine that fails does: SIGKILL. */
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}

/** One PostgreSQL, two control planes over it, a proxy without stickiness, a sandbox cluster and its operator. */
export interface ReplicaStage extends AsyncDisposable {
  readonly cluster: Omit<Stage, 'admin' | keyof AsyncDisposable>;
  readonly proxy: RoundRobin;
  readonly replica: (name: ReplicaName) => Replica;
}

export async function setReplicaStage(progress: Progress): Promise<ReplicaStage> {
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'service-replicas-'));
  started.defer(async () => await rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const [sandbox, postgres, ports] = await Promise.all([startSandbox(folder), PostgresServer.start(), freePorts(3)]);
  started.use(postgres);
  started.use(sandbox);
  progress.note(`PostgreSQL     127.0.0.1:${postgres.port}, a real server of its own`);

  const [proxyPort = 0, ...replicaPorts] = ports;
  const proxy = started.use(
    await RoundRobin.start(
      proxyPort,
      REPLICAS.map((name, index) => ({ name, port: replicaPorts[index] ?? 0 })),
    ),
  );
  const adminToken = mintToken('svcadm', randomBytes);
  const env = {
    SERVICE_DATABASE_URL: await postgres.createDatabase(),
    // One folder for both: the master key, and Git repositories where clusters use them.
    SERVICE_DATA_DIR: join(folder, 'control-plane'),
    SERVICE_BASE_URL: proxy.url,
    SERVICE_ADMIN_TOKEN: adminToken.expose(),
    SERVICE_RATE_LIMIT_EVENTS: '1000',
  };
  const replicas = new Map<ReplicaName, Replica>();
  for (const [index, name] of REPLICAS.entries()) {
    const port = replicaPorts[index] ?? 0;
    const start = async (): Promise<Program> => await startReplica(name, port, folder, env);
    let program = await start();
    started.defer(async () => await program[Symbol.asyncDispose]());
    replicas.set(name, {
      name,
      admin: new AdminClient({ baseUrl: `http://127.0.0.1:${port}`, token: adminToken }),
      kill: async () => await program.kill(),
      startAgain: async () => {
        program = await start();
      },
    });
    progress.note(`replica ${name}      http://127.0.0.1:${port}`);
  }
  progress.note(`proxy          ${proxy.url}, each request to the next replica`);

  const kubeconfig = join(folder, 'kubeconfig');
  const api = started.use(
    connectCluster({
      kubeconfig: { kind: 'file', path: kubeconfig },
      userAgent: 'service-demo',
      clock: systemClock,
      random: Math.random,
      logger: createLogger('demo', 'silent'),
    }),
  );
  await defineKinds(api, fluxCrds(), { fieldManager: 'demo', clock: systemClock });
  started.use(await startReleaseController(folder, kubeconfig));

  const admin = new AdminClient({ baseUrl: proxy.url, token: adminToken });
  const spec = { slug: 'demo', connectivityMode: 'pull', allowedNamespaces: ['shop'] } as const;
  await admin.call('PUT', '/catalog/podinfo', parse(await readFile(join(HERE, '../first-app/catalog.yaml'), 'utf8')));
  const created = await admin.call<{ cluster: { id: string }; registrationToken: string }>('POST', '/clusters', {
    ...spec,
    displayName: 'Demo cluster',
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    intervals: { eventBatchMs: 20 },
  });
  const clusterId = created.cluster.id;
  await prepareCluster(api, spec, proxy.url, created.registrationToken);
  started.use(await startOperator(folder, kubeconfig));
  await untilConnected(admin, clusterId);
  progress.note(`operator       registered through the proxy as ${clusterId}, in pull mode`);

  const held = started.move();
  return {
    proxy,
    cluster: {
      folder,
      controlPlaneUrl: proxy.url,
      adminToken,
      kubeconfig,
      api,
      clusterId,
      slug: spec.slug,
      mode: spec.connectivityMode,
      stays: [],
    },
    replica: (name) => {
      const found = replicas.get(name);
      if (found === undefined) throw new Error(`there is no replica ${name}`);
      return found;
    },
    [Symbol.asyncDispose]: async () => await held.disposeAsync(),
  };
}

async function startReplica(
  name: ReplicaName,
  port: number,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<Program> {
  return await Program.start({
    name: `replica ${name}`,
    args: [CONTROL_PLANE],
    env: { ...env, SERVICE_LISTEN: `127.0.0.1:${port}` },
    logFile: join(folder, `replica-${name}.log`),
    startTimeoutMs: 60_000,
    readyLine: /ready at/,
  });
}
