import type { Server } from 'node:https';
import type { ClusterApi, Informer } from '../../kube/cluster-api.ts';
import { createInformer } from '../../kube/informer.ts';
import type { KubeconfigSource } from '../../kube/load-kubeconfig.ts';
import { operatorAccounts, type OperatorAccounts } from '../../policy/operator-accounts.ts';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import type { DeletedRecord } from '../../reconcile/inventory-record.ts';
import type { Cluster } from '../../resources/cluster.ts';
import type { KubeObject, ObjectRef } from '../../resources/kube-object.ts';
import { CLUSTER_ID_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../resources/labels.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { inOrder } from '../cluster-choice.ts';
import { metricLines } from '../metrics.ts';
import { policyOf } from '../projection.ts';
import { AdmissionServer } from './admission-server.ts';
import { CertificateKeeper } from './certificate-keeper.ts';
import { decideReview, type ReviewView } from './decide-review.ts';
import { operatorIdentity } from './operator-identity.ts';

export interface WebhookDeps {
  readonly api: ClusterApi;
  readonly kubeconfig: KubeconfigSource;
  readonly namespace: string;
  /** Run by whoever made it. */
  readonly clusters: Informer<Cluster>;
  /** What is remembered of an object that went, where this replica leads. */
  readonly deleted?: (ref: ObjectRef) => DeletedRecord | undefined;
  /** Which approvals were used, likewise. */
  readonly approvalUsedBy?: ReviewView['usedBy'];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface Webhook {
  /** Undefined while there is no certificate. */
  readonly server: () => Server | undefined;
  /** Prometheus text. */
  readonly metrics: () => string;
  /** Runs until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

const RETRY = { minMs: 500, maxMs: 60_000 };

/** The admission webhook of one replica. Every replica has one, whoever leads, and each judges from what it watches itself. */
export function createWebhook(deps: WebhookDeps): Webhook {
  const { api, namespace, clusters, clock, random, logger } = deps;
  const namespaces = createInformer<KubeObject>({ ...deps, kind: { apiVersion: 'v1', kind: 'Namespace' } });
  let accounts: OperatorAccounts = operatorAccounts(namespace, undefined);
  const synced = { clusters: false, namespaces: false };
  const cluster = (): Cluster | undefined => inOrder(clusters.list())[0];
  const policy = (): ClusterPolicy | undefined => {
    const chosen = synced.clusters ? cluster() : undefined;
    return chosen === undefined ? undefined : policyOf(chosen.status ?? {}, chosen);
  };
  const admission = new AdmissionServer({
    logger,
    judge: async (request) =>
      await decideReview(request, {
        accounts,
        policy,
        namespaces: () => (synced.namespaces ? (name) => namespaces.get(undefined, name) : undefined),
        now: () => clock.now(),
        ...(deps.deleted === undefined ? {} : { deleted: deps.deleted }),
        ...(deps.approvalUsedBy === undefined ? {} : { usedBy: deps.approvalUsedBy }),
      }),
  });
  const keeper = new CertificateKeeper({
    ...deps,
    labels: () => {
      const clusterId = cluster()?.status?.clusterId;
      return {
        [MANAGED_BY_LABEL]: MANAGED_BY_VALUE,
        ...(clusterId === undefined ? {} : { [CLUSTER_ID_LABEL]: clusterId }),
      };
    },
    serve: (serving) => admission.serve(serving),
  });
  // Mostly the Secret is made before the cluster is registered.
  clusters.onChange((before, after) => {
    if (before?.status?.clusterId !== after?.status?.clusterId) keeper.relabel();
  });
  const learnIdentity = async (signal: AbortSignal): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const identity = await operatorIdentity(deps.kubeconfig, api, signal);
        accounts = operatorAccounts(namespace, identity);
        if (identity === undefined) {
          const message =
            'nobody can tell what this operator runs as; fields that it alone may set are not watched over';
          logger.info(message);
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.debug({ err: error, attempt }, 'the API server cannot be asked yet what the operator runs as');
        await clock.sleep(backoffMs(RETRY, attempt, random), signal).catch(() => undefined);
      }
    }
  };
  return {
    server: () => (admission.hasCertificate ? admission.server : undefined),
    metrics: () => metricsText(admission, keeper),
    async run(signal) {
      const known = async (what: 'clusters' | 'namespaces', informer: Informer<never>): Promise<void> => {
        await informer.synced(signal).catch(() => undefined);
        synced[what] = !signal.aborted;
      };
      await Promise.all([
        namespaces.run(signal),
        known('clusters', clusters as Informer<never>),
        known('namespaces', namespaces as Informer<never>),
        keeper.run(signal),
        learnIdentity(signal),
      ]);
    },
  };
}

function metricsText({ counts }: AdmissionServer, { ends }: CertificateKeeper): string {
  const reviews = Object.entries(counts).map(([answer, count]) => [{ answer }, count] as const);
  return (
    metricLines('service_operator_admission_reviews_total', reviews) +
    metricLines(
      'service_operator_webhook_certificate_end_seconds',
      ends === undefined ? [] : [[{}, ends.getTime() / 1000]],
    )
  );
}
