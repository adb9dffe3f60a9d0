import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import {
  CLUSTER_ID_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_VALUE,
  PAUSED_ANNOTATION,
} from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { ClusterPolicy } from './cluster-policy.ts';
import { isDeliveredKind } from './delivered-kinds.ts';
import { failed, refused, type Refusal } from './refusal.ts';

export function kindIsNotDelivered(ref: ObjectRef): Refusal | undefined {
  if (isDeliveredKind(ref)) return undefined;
  return refused(
    Reason.ManifestRefused,
    `${ref.apiVersion} ${ref.kind} is not taken from a source; only ApplicationInstance and Operation are`,
  );
}

export function namespaceIsNotAllowed(namespace: string | undefined, policy: ClusterPolicy): Refusal | undefined {
  if (namespace !== undefined && policy.allowedNamespaces.includes(namespace)) return undefined;
  const allowed = policy.allowedNamespaces.length === 0 ? 'none is' : `allowed: ${policy.allowedNamespaces.join(', ')}`;
  return refused(
    Reason.NamespaceNotAllowed,
    `namespace ${namespace ?? '(none)'} is not allowed for this cluster; ${allowed}`,
  );
}

/** The operator creates no namespaces and touches none that its admin has not labelled. */
export function namespaceIsNotThere(name: string, namespace: KubeObject | undefined): Refusal | undefined {
  if (namespace === undefined) {
    return failed(
      Reason.ApplyFailed,
      `namespace ${name} does not exist; create it and label it ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`,
    );
  }
  if (namespace.metadata.deletionTimestamp !== undefined) {
    return failed(Reason.ApplyFailed, `namespace ${name} is being deleted; nothing is applied in it`);
  }
  if (namespace.metadata.labels?.[NAMESPACE_LABEL] !== NAMESPACE_LABEL_VALUE) {
    return refused(
      Reason.NamespaceNotAllowed,
      `namespace ${name} is not labelled for the operator; a cluster admin runs: ` +
        `kubectl label namespace ${name} ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`,
    );
  }
  return undefined;
}

/** Whether the paused annotation stands on any of them, or on the Cluster; says on which. */
export function writesArePaused(
  policy: ClusterPolicy,
  ...objects: readonly (KubeObject | undefined)[]
): Refusal | undefined {
  const on = policy.paused
    ? 'the Cluster'
    : objects
        .filter((object) => object?.metadata.annotations?.[PAUSED_ANNOTATION] === 'true')
        .map((object) => `${object?.kind} ${object?.metadata.name}`)[0];
  return on === undefined ? undefined : refused(Reason.Paused, `writes are paused by ${PAUSED_ANNOTATION} on ${on}`);
}

/** Whether the control plane brought the object, by any transport, to this cluster. */
export function isManaged(object: KubeObject, clusterId: string): boolean {
  const labels = object.metadata.labels ?? {};
  return (
    labels[MANAGED_BY_LABEL] === MANAGED_BY_VALUE &&
    (labels[CLUSTER_ID_LABEL] === undefined || labels[CLUSTER_ID_LABEL] === clusterId)
  );
}
