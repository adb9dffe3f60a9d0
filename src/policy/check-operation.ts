import { OPERATION_RULES } from '../resources/operation-rules.ts';
import type { Operation } from '../resources/operation.ts';
import { approvalIsNotGiven } from './approval-is-not-given.ts';
import { backupNamespaceIsNotAllowed } from './backup-namespace-is-not-allowed.ts';
import { integerIsNotExact } from './integer-is-not-exact.ts';
import { namespaceIsNotAllowed } from './namespace-is-not-allowed.ts';
import { namespaceIsNotLabelled } from './namespace-is-not-labelled.ts';
import { operationTemplateIsChanged } from './operation-template-is-changed.ts';
import { operationTemplateIsNotAllowed } from './operation-template-is-not-allowed.ts';
import { parametersAreInvalid } from './parameters-are-invalid.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';
import { restoreNamespaceIsNotAllowed } from './restore-namespace-is-not-allowed.ts';
import { signatureIsNotValid } from './signature-is-not-valid.ts';
import { ruleIsBroken } from './rule-is-broken.ts';
import { templateIsUnknown } from './template-is-unknown.ts';

/** Everything that forbids an operation here, at admission and at reconcile; the first decides the reason. */
export async function checkOperation(
  operation: Operation,
  situation: PolicySituation,
): Promise<readonly PolicyViolation[]> {
  const { namespace } = operation.metadata;
  const target = operation.spec.targetRef?.namespace;
  const elsewhere = target === undefined || target === namespace ? [] : [target];
  const { runs = operation } = situation;
  return [
    ...namespaceIsNotAllowed('namespace', namespace, situation),
    ...namespaceIsNotLabelled(namespace, situation),
    ...elsewhere.flatMap((name) => namespaceIsNotAllowed('targetRef.namespace', name, situation)),
    ...backupNamespaceIsNotAllowed(runs, situation),
    ...restoreNamespaceIsNotAllowed(runs, situation),
    ...(situation.elsewhere ?? []).flatMap((other) =>
      namespaceIsNotLabelled(other.metadata.name, { namespace: other }),
    ),
    ...ruleIsBroken(OPERATION_RULES, operation, situation.before),
    ...integerIsNotExact(operation),
    ...operationTemplateIsNotAllowed(operation, situation),
    ...operationTemplateIsChanged(operation, situation),
    ...templateIsUnknown(operation, situation),
    ...parametersAreInvalid(operation, situation),
    ...(await signatureIsNotValid(operation, situation)),
    ...(await approvalIsNotGiven(operation, situation)),
  ];
}
