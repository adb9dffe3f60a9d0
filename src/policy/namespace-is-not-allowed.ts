import { Reason } from '../resources/reasons.ts';
import { allowAtControlPlane, allowedNames, type PolicySituation, type PolicyViolation } from './policy-violation.ts';

/** The control plane does not let the operator manage a namespace that the object is in, or is about. */
export function namespaceIsNotAllowed(
  field: string,
  name: string | undefined,
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  if (name !== undefined && policy.allowedNamespaces.includes(name)) return [];
  const allowed = allowedNames(policy.allowedNamespaces);
  const message = `${field} ${name ?? '(none)'} is not allowed for this cluster; ${allowed}; ${allowAtControlPlane(policy, 'allowedNamespaces')}`;
  const fault = {
    path: pathOf(field),
    message: `namespace ${name ?? '(none)'} is not allowed on this cluster; ${allowed}`,
  };
  return [{ reason: Reason.NamespaceNotAllowed, message, fault: { ...fault, allowed: [...policy.allowedNamespaces] } }];
}

/** `parameters.includedNamespaces[0]` as a JSON pointer, as far as it names a place. */
function pathOf(field: string): string {
  const [place = ''] = field.split(',');
  return `/${place.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}`;
}
