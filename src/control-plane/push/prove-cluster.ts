import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { Cluster } from '../../resources/cluster.ts';
import { OPERATOR_NAMESPACE, OPS_API_VERSION } from '../../resources/labels.ts';

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
  api: Pick<ClusterApi, 'list'>,
  cluster: { readonly id: string; readonly slug: string },
  signal: AbortSignal,
): Promise<Proof> {
  const kind = { apiVersion: OPS_API_VERSION, kind: 'Cluster' };
  const { items } = await api.list<Cluster>(kind, { namespace: OPERATOR_NAMESPACE, limit: 10 }, signal);
  const ids = items.flatMap(({ status }) => (status?.clusterId === undefined ? [] : [status.clusterId]));
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

function shown(id: string): string {
  return id.replaceAll(/[^a-z0-9-]/g, '').slice(0, 64);
}
