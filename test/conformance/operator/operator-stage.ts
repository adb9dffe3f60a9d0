import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { startOperator, type Operator } from '../../../src/operator/start-operator.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { ChartShelf, demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../../src/sandbox/release-controller/start-release-controller.ts';
import { startTestCluster, type TestCluster } from '../../reconcile/test-cluster.ts';
import { unknownToken } from '../agent-identity.ts';
import { Mismatch } from '../check.ts';
import { CHART_URL } from './scripted-jobs.ts';
import { ScriptedControlPlane } from './scripted-control-plane.ts';

const logger = createLogger('conformance', 'silent');
const NAMESPACE = 'service-system';
const CLUSTER_CRD = new URL('../../../crds/ops.service.io_clusters.yaml', import.meta.url);

/** An operator on a cluster of its own, registered with a control plane that does as it is told. */
export class OperatorStage implements AsyncDisposable {
  readonly plane: ScriptedControlPlane;
  readonly cluster: TestCluster;
  readonly #owned: AsyncDisposableStack;

  private constructor(plane: ScriptedControlPlane, cluster: TestCluster, owned: AsyncDisposableStack) {
    this.plane = plane;
    this.cluster = cluster;
    this.#owned = owned;
  }

  /** @param prepare what the control plane does from the first request on */
  static async start(prepare: (plane: ScriptedControlPlane) => void = () => undefined): Promise<OperatorStage> {
    await using owned = new AsyncDisposableStack();
    const plane = owned.use(await ScriptedControlPlane.start());
    plane.configure({
      catalog_entries: [
        { entry: 'podinfo', chart: { type: 'oci', url: CHART_URL, name: 'podinfo' }, versions: '>=6.5.0 <7' },
      ],
    });
    prepare(plane);
    const cluster = owned.use(await startTestCluster());
    await cluster.api.create(parse(readFileSync(CLUSTER_CRD, 'utf8')) as KubeObject, 'test');
    await cluster.sandbox.settled();
    await cluster.api.create(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'eu', namespace: NAMESPACE },
        spec: { controlPlaneBaseUrl: plane.url, registration: { token: unknownToken('svcreg') } },
      },
      'test',
    );
    const kubeconfig = { kind: 'text', yaml: cluster.sandbox.kubeconfig() } as const;
    const deps = { clock: systemClock, random: Math.random, logger };
    const api = owned.use(connectCluster({ kubeconfig, userAgent: 'release-controller', ...deps }));
    const charts = new ChartShelf(demoCharts().map((chart) => ({ ...chart, url: CHART_URL })));
    const timing = { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 };
    owned.use(startReleaseController({ api, clock: systemClock, logger, charts, timing }));
    const stateDir = mkdtempSync(join(tmpdir(), 'operator-twin-'));
    owned.defer(() => rmSync(stateDir, { recursive: true, force: true, maxRetries: 3 }));
    const operator: Operator = await startOperator(
      { namespace: NAMESPACE, kubeconfig, listen: { host: '127.0.0.1', port: 0 }, stateDir, logLevel: 'silent' },
      deps,
    );
    owned.use(operator);
    return new OperatorStage(plane, cluster, owned.move());
  }

  /** Looks until it holds. What holds a rule up for as long is a failure of the rule. */
  async until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      if (await holds()) return;
      if (Date.now() > end) throw new Mismatch(`within ${timeoutMs / 1000} s: ${what}`);
      await sleep(10);
    }
  }

  /** The one result of a job, once it is there and no second one follows. */
  async result(jobId: string): Promise<Record<string, unknown>> {
    await this.until(`a result of ${jobId}`, () => this.plane.results(jobId).length > 0);
    return this.plane.results(jobId)[0] ?? {};
  }

  async instance(name: string): Promise<KubeObject | undefined> {
    const ref = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name };
    return await this.cluster.api.get(ref);
  }

  /** Status of a condition of the Cluster resource. */
  async condition(type: string): Promise<string | undefined> {
    const ref = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', namespace: NAMESPACE, name: 'eu' };
    const cluster = await this.cluster.api.get<
      KubeObject & { status?: { conditions?: { type: string; status: string }[] } }
    >(ref);
    return cluster?.status?.conditions?.find((condition) => condition.type === type)?.status;
  }

  /** Polls that begin from now on. */
  async nextPoll(timeoutMs = 15_000): Promise<void> {
    const from = this.plane.seen.length;
    await this.until(
      'another poll',
      () => this.plane.requests(/^GET \/api\/agent\/jobs\?/, from).length > 0,
      timeoutMs,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
