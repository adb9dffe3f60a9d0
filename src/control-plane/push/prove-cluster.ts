import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { TIMED_OUT } from '../../kube/kube-fault.ts';
import type { Cluster } from '../../resources/cluster.ts';
import { OPERATOR_NAMESPACE, OPS_API_VERSION } from '../../resources/labels.ts';
import type { Clock } from '../../runtime/clock.ts';

/** All of it, repeated requests included. */
const PROOF_MS = 10_000;
/** There is one; whoever has more has them for nothing. */
const MAX_CLUSTERS = 10;

export type Proof =
  | { readonly state: 'same' }
  /** An operator is there that has not registered, or none: it may be the cluster that is meant. */
  | { readonly state: 'unknown'; readonly message: string }
  | { readonly state: 'other'; readonly message: string };

/**
 * Whether the API server is that of the cluster that is meant: its operator keeps the id that it registered with in the
 * status of its Cluster resource, and no other cluster's has it. A kubeconfig of the wrong cluster has all the right rights.
 */
export async function proveCluster(
  { api, clock }: { readonly api: Pick<ClusterApi, 'list'>; readonly clock: Clock },
  cluster: { readonly id: string; readonly slug: string },
  signal: AbortSignal,
): Promise<Proof> {
  const items = await listClusters(api, clock, signal);
  const ids = items.map(({ status }): unknown => status?.clusterId).filter((id) => typeof id === 'string');
  if (ids.includes(cluster.id)) return { state: 'same' };
  const [other] = ids;
  if (other !== undefined) {
    return {
      state: 'other',
      message: `this API server is that of another cluster: its Cluster resource in ${OPERATOR_NAMESPACE} has the id ${shown(other)}, and ${cluster.slug} has ${cluster.id}. Take the kubeconfig of ${cluster.slug}`,
    };
  }
  return {
    state: 'unknown',
    message:
      items.length === 0
        ? `there is no Cluster resource in ${OPERATOR_NAMESPACE}: install the operator of ${cluster.slug} first (servicectl clusters install-command ${cluster.slug})`
        : `the operator there has not registered yet: its Cluster resource has no id. Nothing is written before it has ${cluster.id}`,
  };
}

async function listClusters(
  api: Pick<ClusterApi, 'list'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly Cluster[]> {
  const kind = { apiVersion: OPS_API_VERSION, kind: 'Cluster' };
  const [late, done] = [new AbortController(), new AbortController()];
  void clock.sleep(PROOF_MS, done.signal).then(
    () => late.abort(),
    () => undefined,
  );
  try {
    const options = { namespace: OPERATOR_NAMESPACE, atMost: MAX_CLUSTERS };
    return (await api.list<Cluster>(kind, options, AbortSignal.any([signal, late.signal]))).items;
  } catch (error) {
    if (!late.signal.aborted || signal.aborted) throw error;
    const message = `it could not be seen within ${PROOF_MS / 1000} s whose API server it is`;
    throw new KubeError(message, { status: 0, reason: TIMED_OUT });
  } finally {
    done.abort();
  }
}

function shown(id: string): string {
  return id.replaceAll(/[^a-z0-9-]/g, '').slice(0, 64);
}
