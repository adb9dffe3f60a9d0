import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { connectCluster } from '../kube/connect-cluster.ts';
import { createInformer } from '../kube/informer.ts';
import { LeaderElection } from '../kube/lease/leader-election.ts';
import { CLUSTER_KIND, type Cluster } from '../resources/cluster.ts';
import { CLUSTER_ID_LABEL, OPERATOR_LEASE, OPS_API_VERSION } from '../resources/labels.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { OperatorConfig } from './config.ts';
import { Leadership } from './leadership.ts';
import { USER_AGENT } from './operator-version.ts';
import { startProbes } from './probes.ts';
import { createWebhook } from './webhook/start-webhook.ts';

export interface OperatorDeps {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  /** Milliseconds of a clock that nobody sets; the same as `clock` where that is moved by hand. */
  readonly elapsedMs?: () => number;
}

export interface Operator extends AsyncDisposable {
  /** Where `/healthz`, `/readyz` and `/metrics` are, with `listen` in the configuration. */
  readonly probesUrl?: string;
  /** Rejects when a loop ended by a fault, after which a restart is the remedy. Never resolves. */
  readonly failed: Promise<never>;
}

/**
 * Starts the operator and returns once it listens; whether the cluster or the control plane is there decides nothing yet.
 * Of several, the holder of the Lease works; the others stand by, ready to answer probes and to take over.
 *
 * @throws when the kubeconfig cannot be used or the address cannot be listened on
 */
export async function startOperator(config: OperatorConfig, deps: OperatorDeps): Promise<Operator> {
  const { clock, random, logger } = deps;
  const { namespace, stateDir } = config;
  const started = new AsyncDisposableStack();
  try {
    const api = started.use(
      connectCluster({ kubeconfig: config.kubeconfig, userAgent: USER_AGENT, clock, random, logger }),
    );
    const kind = { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND };
    const clusters = createInformer<Cluster>({ api, kind, namespace, clock, random, logger });
    const leadership = new Leadership({ api, namespace, stateDir, clock, random, logger });
    const election = new LeaderElection({
      api,
      lease: { namespace, name: OPERATOR_LEASE },
      identity: `${hostname()}_${randomUUID()}`,
      labels: () => {
        const clusterId = leadership.session?.clusterId;
        return clusterId === undefined ? {} : { [CLUSTER_ID_LABEL]: clusterId };
      },
      clock,
      elapsedMs: deps.elapsedMs ?? (() => clock.now().getTime()),
      random,
      logger,
    });
    // Without an address there is nobody to answer.
    const webhook =
      config.listen === undefined
        ? undefined
        : createWebhook({
            api,
            kubeconfig: config.kubeconfig,
            namespace,
            clusters,
            deleted: (ref) => leadership.session?.deleted(ref),
            approvalUsedBy: (jti, uid) => leadership.session?.approvalUsedBy(jti, uid),
            clock,
            random,
            logger,
          });
    let synced = false;
    const probes =
      config.listen === undefined
        ? undefined
        : started.use(
            await startProbes({
              listen: config.listen,
              notReady: () =>
                synced
                  ? election.fault && `the Lease cannot be read or written: ${election.fault}`
                  : 'the Cluster resources cannot be listed yet',
              leads: () => election.leads,
              connectivity: () => leadership.session?.connectivity,
              droppedEvents: () => leadership.session?.droppedEvents ?? 0,
              credentialExpiresAt: () => leadership.session?.credentialExpiresAt,
              secure: () => webhook?.server(),
              moreMetrics: () => webhook?.metrics() ?? '',
            }),
          );
    const stop = new AbortController();
    const watching = clusters.run(stop.signal);
    const judging = webhook?.run(stop.signal);
    clusters.synced(stop.signal).then(
      () => {
        synced = true;
      },
      () => undefined,
    );
    const leading = election.run(stop.signal, async (term) => await leadership.lead(term));
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    leading.catch((error: unknown) => failed.reject(error));
    // Disposed in reverse: the loops end before what they use.
    started.defer(async () => {
      stop.abort(new Error('the operator is stopping'));
      await Promise.allSettled([watching, judging, leading]);
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
