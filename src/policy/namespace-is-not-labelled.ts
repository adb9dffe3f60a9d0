import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/** The cluster's own admin has not given the namespace to the operator. */
export function namespaceIsNotLabelled(
  name: string | undefined,
  { namespace }: Pick<PolicySituation, 'namespace'>,
): readonly PolicyViolation[] {
  if (namespace?.metadata.labels?.[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE) return [];
  const message =
    `namespace ${name ?? '(none)'} is not labelled for the operator; a cluster admin runs: ` +
    `kubectl label namespace ${name ?? 'NAME'} ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`;
  return [{ reason: Reason.NamespaceNotLabelled, message }];
}
