import type { Operation } from '../resources/operation.ts';
import { namespaceIsNotAllowed } from './namespace-is-not-allowed.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';
import { veleroNamespaces } from './velero-namespaces.ts';

/**
 * A restore would take something out of, or write to, a namespace that the control plane does not let the operator manage:
 * Velero itself may do either anywhere. Both sides of a mapping count, so that nothing comes out of another's namespace.
 */
export function restoreNamespaceIsNotAllowed(
  operation: Pick<Operation, 'spec'>,
  situation: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  const named = veleroNamespaces('velero-restore', operation, situation);
  return named.flatMap(({ path, name }) => namespaceIsNotAllowed(path, name, situation));
}
