import { SEQUENCE_CONFIG_MAP } from '../../src/events/report/sequence.ts';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import type { ObjectRef } from '../../src/resources/kube-object.ts';
import {
  CREDENTIALS_SECRET,
  INVENTORY_CONFIG_MAP,
  KEYPAIR_SECRET,
  OPERATOR_LEASE,
  OPERATOR_NAMESPACE,
  OPS_API_VERSION,
  WEBHOOK_SECRET,
} from '../../src/resources/labels.ts';

/** What a run makes in a cluster that is not the demo's own. */
export interface Traces {
  /** Arguments of kubectl that take away what stays after `remove`; none when all of it was there before. */
  readonly stays: readonly string[];
  /** Once the operator has ended, which would bring it back. What was there before the run is left alone. */
  readonly remove: () => Promise<void>;
}

/** Looks at what is there before anything is made. @throws KubeError */
export async function lookForTraces(
  api: ClusterApi,
  cluster: { readonly slug: string; readonly allowedNamespaces: readonly string[] },
): Promise<Traces> {
  const own = (apiVersion: string, kind: string, name: string): ObjectRef => ({
    apiVersion,
    kind,
    namespace: OPERATOR_NAMESPACE,
    name,
  });
  const made = await absent(api, [
    ...[INVENTORY_CONFIG_MAP, SEQUENCE_CONFIG_MAP].map((name) => own('v1', 'ConfigMap', name)),
    ...[CREDENTIALS_SECRET, KEYPAIR_SECRET, WEBHOOK_SECRET].map((name) => own('v1', 'Secret', name)),
    own('coordination.k8s.io/v1', 'Lease', OPERATOR_LEASE),
  ]);
  const names = [OPERATOR_NAMESPACE, ...cluster.allowedNamespaces];
  const namespaces = await absent(
    api,
    names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', name })),
  );
  const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
  const definitions = await absent(api, [{ ...definition, name: 'clusters.ops.service.io' }]);
  const stays = [
    ...(namespaces.length === 0 ? [] : [`delete namespace ${namespaces.map(({ name }) => name).join(' ')}`]),
    ...(definitions.length === 0 ? [] : ['delete -f crds/']),
  ];
  return {
    stays,
    remove: async () => {
      for (const ref of [own(OPS_API_VERSION, 'Cluster', cluster.slug), ...made]) await api.delete(ref);
    },
  };
}

async function absent(api: ClusterApi, refs: readonly ObjectRef[]): Promise<readonly ObjectRef[]> {
  const found = await Promise.all(refs.map(async (ref) => await api.get(ref)));
  return refs.filter((_, index) => found[index] === undefined);
}
