import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { Operator } from '../../src/operator/start-operator.ts';
import type { ConnectivityMode } from '../../src/protocol/connectivity-mode.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { ChartShelf, demoCharts } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../src/sandbox/release-controller/start-release-controller.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { decoded, NAMESPACE, OperatorWorld } from '../operator/operator-world.ts';

/** Kinds whose objects anybody in the cluster may look at. Secrets are what holds secrets. */
const OPEN_KINDS = [
  ['v1', 'Event'],
  ['v1', 'ConfigMap'],
  ['apps.service.io/v1alpha1', 'ApplicationInstance'],
  ['ops.service.io/v1alpha1', 'Cluster'],
  ['ops.service.io/v1alpha1', 'Operation'],
  ['helm.toolkit.fluxcd.io/v2', 'HelmRelease'],
  ['source.toolkit.fluxcd.io/v1', 'OCIRepository'],
] as const;
const LISTS = ['events', 'intents', 'jobs', 'recovery-values'] as const;

/** Both programs with their logs at the lowest level, and everything that they leave where somebody may look. */
export class LeakStage implements AsyncDisposable {
  /** Bodies of answers that are no success. */
  readonly errors: string[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'leaks-'));
  readonly world: OperatorWorld;
  readonly plane: RunningControlPlane;
  readonly #owned: AsyncDisposableStack;
  readonly #logger: Logger;
  readonly #lines: readonly string[];
  operator!: Operator;
  clusterId = '';

  private constructor(
    plane: RunningControlPlane,
    world: OperatorWorld,
    owned: AsyncDisposableStack,
    log: { readonly logger: Logger; readonly lines: readonly string[] },
  ) {
    this.plane = plane;
    this.world = world;
    this.#owned = owned;
    this.#logger = log.logger;
    this.#lines = log.lines;
  }

  static async start(): Promise<LeakStage> {
    const lines: string[] = [];
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    await using owned = new AsyncDisposableStack();
    const plane = owned.use(await RunningControlPlane.start(systemClock, {}, logger));
    const world = owned.use(await OperatorWorld.start());
    const kubeconfig = { kind: 'text', yaml: world.cluster.sandbox.kubeconfig() } as const;
    const api = owned.use(connectCluster({ kubeconfig, userAgent: 'flux', clock: systemClock, random: Math.random }));
    owned.use(
      startReleaseController({
        api,
        clock: systemClock,
        logger,
        charts: new ChartShelf(demoCharts()),
        timing: { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 },
      }),
    );
    await plane.putPodinfo();
    return new LeakStage(plane, world, owned.move(), { logger, lines });
  }

  /** Makes the record, and an operator that finds its registration token in a Secret. Answers the token. */
  async join(mode: ConnectivityMode): Promise<string> {
    const created = await this.plane.call('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo', 'strict'],
      allowedOperationTemplates: [],
      connectivityMode: mode,
      intervals: { eventBatchMs: 20 },
      security: { requireSignedPayloads: true, requireEncryptedSecretPayloads: true },
    });
    this.clusterId = String(created.body['cluster'].id);
    const token = String(created.body['registrationToken']);
    const metadata = { name: 'service-operator-registration', namespace: NAMESPACE };
    const data = { token: Buffer.from(token).toString('base64') };
    await this.world.cluster.api.create({ apiVersion: 'v1', kind: 'Secret', metadata, data }, 'kubectl');
    this.operator = await this.world.start(systemClock, this.#logger);
    await this.world.join(this.plane.url);
    await this.world.until('ControllersHealthy', 'True', 'ControllersRunning');
    return token;
  }

  /** A call that is to fail; its answer is kept. */
  async fail(method: string, path: string, body?: unknown, token?: string | null): Promise<number> {
    const answer = await this.plane.call(method, path, body, token === undefined ? {} : { token });
    if (answer.status < 400) throw new Error(`${method} ${path} was taken: ${answer.status}`);
    this.errors.push(JSON.stringify([...answer.headers]) + JSON.stringify(answer.body));
    return answer.status;
  }

  async accept(intent: Record<string, unknown>): Promise<string> {
    const answer = await this.plane.call('POST', `/clusters/${this.clusterId}/intents`, intent);
    if (answer.status !== 202) throw new Error(`the intent is refused: ${JSON.stringify(answer.body)}`);
    return String(answer.body['id']);
  }

  async credential(): Promise<string> {
    return decoded(await this.world.secret('service-operator-credentials'), 'token');
  }

  /** Everything, by where it was found. */
  async evidence(): Promise<Map<string, string | Buffer>> {
    const found = new Map<string, string | Buffer>([
      ['logs', this.#lines.join('')],
      ['error bodies', this.errors.join('\n')],
      ['database', Buffer.concat(this.#databaseFiles())],
      ['git', this.#git()],
      ['metrics', await (await fetch(`${this.operator.probesUrl}/metrics`)).text()],
      ['files of the operator', Buffer.concat(filesBelow(this.world.stateDir))],
    ]);
    for (const [apiVersion, kind] of OPEN_KINDS) {
      const { items } = await this.world.cluster.api.list<KubeObject>({ apiVersion, kind });
      found.set(kind, JSON.stringify(items));
    }
    for (const list of LISTS) found.set(list, await this.#all(`/clusters/${this.clusterId}/${list}`));
    found.set('audit', await this.#all('/audit'));
    found.set('cluster', JSON.stringify((await this.plane.call('GET', `/clusters/${this.clusterId}`)).body));
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #all(path: string): Promise<string> {
    const { status, body } = await this.plane.call('GET', `${path}?limit=500`);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return JSON.stringify(body);
  }

  #databaseFiles(): Buffer[] {
    const names = readdirSync(this.plane.folder).filter((name) => name.startsWith('control-plane.db'));
    return names.map((name) => readFileSync(join(this.plane.folder, name)));
  }

  /** Every object of every repository, with whatever no branch holds any more. */
  #git(): Buffer {
    const root = join(this.plane.folder, 'git');
    if (!existsSync(root)) return Buffer.alloc(0);
    const repositories = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.git'),
    );
    return Buffer.concat(
      repositories.map((path) =>
        execFileSync('git', ['-C', join(root, path), 'cat-file', '--batch-all-objects', '--batch'], {
          maxBuffer: 1 << 26,
        }),
      ),
    );
  }
}

function filesBelow(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path));
}
