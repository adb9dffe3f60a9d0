import type { PolicyViolation } from '../../../policy/policy-violation.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { OperationRun } from '../template-runner.ts';

/**
 * The target is in another namespace, or in another API version than the operator speaks. What may be done in a namespace
 * is judged by that of the operation: its annotations, its approvals, the operator's rights there.
 */
export function targetIsElsewhere(
  { operation }: Pick<OperationRun, 'operation'>,
  apiVersion: string,
): readonly PolicyViolation[] {
  const { metadata, spec } = operation;
  const target = spec.targetRef;
  const violations: PolicyViolation[] = [];
  if (target?.namespace !== undefined && target.namespace !== metadata.namespace) {
    const message =
      `targetRef.namespace is ${target.namespace}: an operation works in its own namespace alone; ` +
      `make one in ${target.namespace}, or leave targetRef.namespace out`;
    violations.push({ reason: Reason.SpecInvalid, message });
  }
  if (target?.apiVersion !== undefined && target.apiVersion !== apiVersion) {
    const message = `targetRef.apiVersion is ${target.apiVersion}; a ${target.kind} is worked on as ${apiVersion}`;
    violations.push({ reason: Reason.SpecInvalid, message });
  }
  return violations;
}
