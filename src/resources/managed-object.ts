import type { KubeObject } from './kube-object.ts';
import { CLUSTER_ID_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from './labels.ts';

/** Whether the control plane brought the object, by any transport, to this cluster. */
export function isManaged(object: KubeObject, clusterId: string): boolean {
  const labels = object.metadata.labels ?? {};
  return (
    labels[MANAGED_BY_LABEL] === MANAGED_BY_VALUE &&
    (labels[CLUSTER_ID_LABEL] === undefined || labels[CLUSTER_ID_LABEL] === clusterId)
  );
}

/** The manifest as it is sent: with both labels, and without what only the server sets. */
export function asDelivered({ status: _status, ...desired }: KubeObject, clusterId: string): KubeObject {
  const { name, namespace, labels, annotations } = desired.metadata;
  return {
    ...desired,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [MANAGED_BY_LABEL]: MANAGED_BY_VALUE, [CLUSTER_ID_LABEL]: clusterId },
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
}
