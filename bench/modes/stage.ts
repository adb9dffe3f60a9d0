import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Program } from '../../examples/first-app/program.ts';
import {
  prepareCluster,
  startOperator,
  startReleaseController,
  untilConnected,
} from '../../examples/first-app/stage.ts';
import { AdminClient } from '../../src/cli/admin-client.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { CONNECTIVITY_MODES, type ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import type { SeenWrite } from './cluster.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const NAMESPACE = 'shop';

/** `GET /api/v1/intents/{id}`, the part that is used. */
export interface IntentView {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly acceptedAt: string;
  readonly deliveredAt?: string;
  readonly readyAt?: string;
}

/** One cluster of the control plane, which is delivered to in its mode. */
export interface Member {
  readonly mode: ConnectivityMode;
  readonly id: string;
  /** Of its admin, as text. */
  readonly kubeconfig: string;
  /** Everything that was written to it so far. */
  readonly writes: () => Promise<readonly SeenWrite[]>;
}

export interface BenchStage extends AsyncDisposable {
  readonly admin: AdminClient;
  readonly members: readonly Member[];
}

/** A control plane, and for each mode a cluster, its release controller and its operator: all processes of their own. */
export async function startStage(modes: readonly ConnectivityMode[] = CONNECTIVITY_MODES): Promise<BenchStage> {
  await using started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'bench-modes-'));
  started.defer(async () => await rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const token = mintToken('svcadm', randomBytes);
  const plane = started.use(
    await Program.start({
      name: 'control plane',
      args: [join(ROOT, 'src/control-plane/main.ts')],
      env: {
        SERVICE_LISTEN: '127.0.0.1:0',
        SERVICE_DATA_DIR: join(folder, 'control-plane'),
        SERVICE_ADMIN_TOKEN: token.expose(),
        SERVICE_LOG_LEVEL: 'warn',
        // Batches of 20 ms make more posts than the default allows.
        SERVICE_RATE_LIMIT_EVENTS: '1000',
      },
      logFile: join(folder, 'control-plane.log'),
      startTimeoutMs: 30_000,
      readyLine: /http:\/\//,
    }),
  );
  const baseUrl = /http:\/\/[^\s"]+/.exec(plane.readyLine)?.[0].replace(/\/$/, '') ?? '';
  const admin = new AdminClient({ baseUrl, token });
  const catalog = join(ROOT, 'examples/first-app/catalog.yaml');
  await admin.call('PUT', '/catalog/podinfo', parse(readFileSync(catalog, 'utf8')));
  const members: Member[] = [];
  for (const mode of modes) {
    const place = join(folder, mode);
    mkdirSync(place);
    members.push(await startMember(started, { mode, place, admin, baseUrl }));
  }
  const owned = started.move();
  return { admin, members, [Symbol.asyncDispose]: async () => await owned.disposeAsync() };
}

async function startMember(
  started: AsyncDisposableStack,
  given: {
    readonly mode: ConnectivityMode;
    readonly place: string;
    readonly admin: AdminClient;
    readonly baseUrl: string;
  },
): Promise<Member> {
  const { mode, place, admin, baseUrl } = given;
  const kubeconfig = join(place, 'kubeconfig');
  const cluster = started.use(
    await Program.start({
      name: `cluster for ${mode}`,
      args: [join(import.meta.dirname, 'cluster.ts'), kubeconfig],
      env: {},
      logFile: join(place, 'cluster.log'),
      startTimeoutMs: 30_000,
      readyLine: /http:\/\//,
    }),
  );
  const source = { kind: 'file', path: kubeconfig } as const;
  await using api = connectCluster({ kubeconfig: source, userAgent: 'bench', clock: systemClock, random: Math.random });
  for (const definition of fluxCrds()) await api.apply(definition, { fieldManager: 'bench' });
  started.use(await startReleaseController(place, kubeconfig));
  const text = readFileSync(kubeconfig, 'utf8');
  const record = { slug: mode, connectivityMode: mode, allowedNamespaces: [NAMESPACE] };
  const created = await admin.call<{ cluster: { id: string }; registrationToken: string }>('POST', '/clusters', {
    ...record,
    displayName: mode,
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    ...(mode === 'push' ? { push: { kubeconfig: text } } : {}),
  });
  const { id } = created.cluster;
  await prepareCluster(api, record, baseUrl, created.registrationToken);
  started.use(await startOperator(place, kubeconfig));
  await untilConnected(admin, id);
  return {
    mode,
    id,
    kubeconfig: text,
    writes: async () => (await (await fetch(cluster.readyLine)).json()) as readonly SeenWrite[],
  };
}

/** Asks for an intent and answers it once the control plane has seen how it ended. */
export async function bring(
  admin: AdminClient,
  { mode, id }: Member,
  intent: Readonly<Record<string, unknown>>,
): Promise<IntentView> {
  const body = { namespace: NAMESPACE, catalogEntry: 'podinfo', chartVersion: '6.5.0', ...intent };
  const accepted = await admin.call<{ id: string }>('POST', `/clusters/${id}/intents`, body);
  for (const deadline = Date.now() + 60_000; ;) {
    const view = await admin.call<IntentView>('GET', `/intents/${accepted.id}`);
    if (view.state === 'ready') return view;
    if (view.state === 'failed' || Date.now() > deadline) throw new Error(`${mode}: ${JSON.stringify(view)}`);
    // Its times are the control plane's own: how often it is asked moves none of them.
    await systemClock.sleep(10);
  }
}

/** Of the operator or the control plane; its Lease is renewed whether there is an intent or not. */
export function isOurs({ userAgent, resource }: SeenWrite): boolean {
  return /^service-(?:operator|control-plane)\b/.test(userAgent) && resource !== 'leases';
}
