import { connectCluster } from '../kube/connect-cluster.ts';
import type { ClusterApi } from '../kube/cluster-api.ts';
import { createInformer } from '../kube/informer.ts';
import { createKubeEventRecorder } from '../kube/kube-event-recorder.ts';
import { CLUSTER_KIND, type Cluster } from '../resources/cluster.ts';
import { OPS_API_VERSION } from '../resources/labels.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { ClusterChoice } from './cluster-choice.ts';
import type { OperatorConfig } from './config.ts';
import { USER_AGENT } from './operator-version.ts';
import { startProbes } from './probes.ts';

export interface OperatorDeps {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

export interface Operator extends AsyncDisposable {
  /** Where `/healthz`, `/readyz` and `/metrics` are, with `listen` in the configuration. */
  readonly probesUrl?: string;
  /** Rejects when a loop ended by a fault, after which a restart is the remedy. Never resolves. */
  readonly failed: Promise<never>;
}

/**
 * Starts the operator and returns once it listens; whether the cluster or the control plane is there decides nothing yet.
 *
 * @throws when the kubeconfig cannot be used or the address cannot be listened on
 */
export async function startOperator(config: OperatorConfig, deps: OperatorDeps): Promise<Operator> {
  const { clock, random, logger } = deps;
  const started = new AsyncDisposableStack();
  try {
    const api: ClusterApi & AsyncDisposable = started.use(
      connectCluster({ kubeconfig: config.kubeconfig, userAgent: USER_AGENT, clock, random, logger }),
    );
    const recorder = started.use(createKubeEventRecorder({ api, component: 'service-operator', clock, logger }));
    const kind = { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND };
    const { namespace, stateDir } = config;
    const clusters = createInformer<Cluster>({ api, kind, namespace, clock, random, logger });
    const choice = new ClusterChoice({ api, recorder, clusters, namespace, stateDir, clock, random, logger });
    let synced = false;
    const probes =
      config.listen === undefined
        ? undefined
        : started.use(
            await startProbes({
              listen: config.listen,
              notReady: () => (synced ? undefined : 'the Cluster resources cannot be listed yet'),
              connectivity: () => choice.session?.connectivity,
              droppedEvents: () => choice.session?.droppedEvents ?? 0,
            }),
          );
    const stop = new AbortController();
    const watching = clusters.run(stop.signal);
    clusters.synced(stop.signal).then(
      () => {
        synced = true;
      },
      () => undefined,
    );
    const choosing = choice.run(stop.signal);
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    choosing.catch((error: unknown) => failed.reject(error));
    // Disposed in reverse: the loops end before what they use.
    started.defer(async () => {
      stop.abort(new Error('the operator is stopping'));
      await Promise.allSettled([watching, choosing]);
    });
    return {
      ...(probes === undefined ? {} : { probesUrl: probes.url }),
      failed: failed.promise,
      async [Symbol.asyncDispose]() {
        await started.disposeAsync();
      },
    };
  } catch (error) {
    await started.disposeAsync();
    throw error;
  }
}
