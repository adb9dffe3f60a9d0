import { ALLOWED_OPERATIONS_ANNOTATION } from '../resources/labels.ts';
import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { allowAtControlPlane, allowedNames, type PolicySituation, type PolicyViolation } from './policy-violation.ts';

/**
 * The template is not allowed on the cluster, or not in a namespace that the operation is in or is about. A namespace's
 * annotation narrows the cluster's list and never widens it; without the annotation the cluster's list holds.
 */
export function operationTemplateIsNotAllowed(
  { spec: { template } }: Pick<Operation, 'spec'>,
  { namespace, elsewhere = [], policy }: Pick<PolicySituation, 'namespace' | 'elsewhere' | 'policy'>,
): readonly PolicyViolation[] {
  const violations: PolicyViolation[] = [];
  if (!policy.operationTemplates.includes(template)) {
    const message = `operation template ${template} is not allowed on this cluster; ${allowedNames(policy.operationTemplates)}; ${allowAtControlPlane(policy, 'allowedOperationTemplates')}`;
    violations.push({ reason: Reason.TemplateNotAllowed, message, fault: { path: '/template', message } });
  }
  const places = namespace === undefined ? elsewhere : [namespace, ...elsewhere];
  return [...violations, ...places.flatMap((place) => isNotAllowedIn(place, template))];
}

function isNotAllowedIn({ metadata }: KubeObject, template: string): readonly PolicyViolation[] {
  const annotation = metadata.annotations?.[ALLOWED_OPERATIONS_ANNOTATION];
  if (annotation === undefined) return [];
  const listed = annotation
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (listed.includes(template)) return [];
  const { name } = metadata;
  const message =
    `operation template ${template} is not allowed in namespace ${name}; ${allowedNames(listed)}; a cluster admin runs: ` +
    `kubectl annotate --overwrite namespace ${name} ${ALLOWED_OPERATIONS_ANNOTATION}=${[...listed, template].join(',')}`;
  return [{ reason: Reason.TemplateNotAllowed, message }];
}
