import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE, PAUSED_ANNOTATION } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { isDeliveredKind } from './delivered-kinds.ts';
import { notGrantedMessage } from './kube-failure.ts';
import { pauseOf } from './pause.ts';
import { namespaceIsNotLabelled } from '../policy/namespace-is-not-labelled.ts';
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
  const none =
    policy.isProjected === false ? 'the control plane tells no configuration that would allow any' : 'none is';
  const allowed = policy.allowedNamespaces.length === 0 ? none : `allowed: ${policy.allowedNamespaces.join(', ')}`;
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
  return labelIsMissing(name, namespace);
}

/** What the cluster's admin has not given to the operator, or has taken back: nothing is written there, and nothing deleted. */
export function labelIsMissing(name: string, namespace: KubeObject | undefined): Refusal | undefined {
  const [unlabelled] = namespaceIsNotLabelled(name, { namespace });
  return unlabelled === undefined ? undefined : refused(unlabelled.reason, unlabelled.message);
}

/** Known beforehand, so that no write is tried that would only be denied. */
export function namespaceIsNotGranted(name: string, isDenied: boolean | undefined): Refusal | undefined {
  return isDenied === true ? refused(Reason.NamespaceNotGranted, notGrantedMessage(name)) : undefined;
}

/** Whether the paused annotation stands on any of them, or on the Cluster; says on which. */
export function writesArePaused(
  policy: ClusterPolicy,
  ...objects: readonly (KubeObject | undefined)[]
): Refusal | undefined {
  if (policy.paused) {
    return refused(Reason.Paused, policy.pause ?? `writes are paused by ${PAUSED_ANNOTATION} on the Cluster`);
  }
  const message = objects.map(pauseOf).find((pause) => pause !== undefined);
  return message === undefined ? undefined : refused(Reason.Paused, message);
}

/** Allowed for the cluster, labelled by its admin, and there to stay: where the operator works at all. */
export function namespaceIsOpen(name: string, namespace: KubeObject | undefined, policy: ClusterPolicy): boolean {
  return namespaceIsNotAllowed(name, policy) === undefined && namespaceIsNotThere(name, namespace) === undefined;
}
