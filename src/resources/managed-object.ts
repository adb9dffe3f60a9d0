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

/** The field managers that own an annotation. Nobody clears `managedFields` but on purpose; then there are none. */
export function ownersOfAnnotation({ metadata }: KubeObject, name: string): readonly string[] {
  if (metadata.annotations?.[name] === undefined) return [];
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => {
      const annotations = fieldAt(fieldAt(fieldsV1, 'f:metadata'), 'f:annotations');
      return fieldAt(annotations, `f:${name}`) !== undefined;
    })
    .map(({ manager = '' }) => manager);
}

function fieldAt(fields: unknown, name: string): unknown {
  return typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>)[name] : undefined;
}
