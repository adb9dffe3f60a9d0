import { ALLOWED_OPERATIONS_ANNOTATION } from '../resources/labels.ts';
import type { Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import { allowAtControlPlane, allowedNames, type PolicySituation, type PolicyViolation } from './policy-violation.ts';

/**
 * The template is not allowed on the cluster, or not in this namespace. The namespace's annotation narrows the cluster's
 * list and never widens it; without the annotation the cluster's list holds.
 */
export function operationTemplateIsNotAllowed(
  { metadata, spec }: Pick<Operation, 'metadata' | 'spec'>,
  { namespace, policy }: Pick<PolicySituation, 'namespace' | 'policy'>,
): readonly PolicyViolation[] {
  const { template } = spec;
  const violations: PolicyViolation[] = [];
  if (!policy.operationTemplates.includes(template)) {
    const message = `operation template ${template} is not allowed on this cluster; ${allowedNames(policy.operationTemplates)}; ${allowAtControlPlane(policy, 'allowedOperationTemplates')}`;
    violations.push({ reason: Reason.TemplateNotAllowed, message, fault: { path: '/template', message } });
  }
  const annotation = namespace?.metadata.annotations?.[ALLOWED_OPERATIONS_ANNOTATION];
  if (annotation === undefined) return violations;
  const listed = annotation
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (listed.includes(template)) return violations;
  const name = metadata.namespace ?? '';
  const message =
    `operation template ${template} is not allowed in namespace ${name}; ${allowedNames(listed)}; a cluster admin runs: ` +
    `kubectl annotate --overwrite namespace ${name} ${ALLOWED_OPERATIONS_ANNOTATION}=${[...listed, template].join(',')}`;
  return [...violations, { reason: Reason.TemplateNotAllowed, message }];
}
