import type { Operation } from '../resources/operation.ts';
import { namespaceIsNotAllowed } from './namespace-is-not-allowed.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';
import { veleroNamespaces } from './velero-namespaces.ts';

/** A backup would hold a namespace that the control plane does not let the operator manage: Velero itself reads them all. */
export function backupNamespaceIsNotAllowed(
  operation: Pick<Operation, 'spec'>,
  situation: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  const named = veleroNamespaces('velero-backup', operation, situation);
  return named.flatMap(({ path, name }) => namespaceIsNotAllowed(path, name, situation));
}
