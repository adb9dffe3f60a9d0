import { APPLICATION_INSTANCE_RULES } from '../resources/application-instance-rules.ts';
import type { ApplicationInstance } from '../resources/application-instance.ts';
import { approvalIsNotGiven } from './approval-is-not-given.ts';
import { chartIsNotAllowed } from './chart-is-not-allowed.ts';
import { integerIsNotExact } from './integer-is-not-exact.ts';
import { namespaceIsNotAllowed } from './namespace-is-not-allowed.ts';
import { namespaceIsNotLabelled } from './namespace-is-not-labelled.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';
import { ruleIsBroken } from './rule-is-broken.ts';
import { signatureIsNotValid } from './signature-is-not-valid.ts';

/** Everything that forbids an instance here, at admission and at every reconcile; the first decides the reason. */
export async function checkApplicationInstance(
  instance: ApplicationInstance,
  situation: PolicySituation,
): Promise<readonly PolicyViolation[]> {
  const { namespace } = instance.metadata;
  const { targetNamespace } = instance.spec;
  const elsewhere = targetNamespace === undefined || targetNamespace === namespace ? [] : [targetNamespace];
  return [
    ...namespaceIsNotAllowed('namespace', namespace, situation),
    ...namespaceIsNotLabelled(namespace, situation),
    ...elsewhere.flatMap((name) => namespaceIsNotAllowed('targetNamespace', name, situation)),
    ...(situation.elsewhere ?? []).flatMap((other) =>
      namespaceIsNotLabelled(other.metadata.name, { namespace: other }),
    ),
    ...chartIsNotAllowed(instance, situation),
    ...ruleIsBroken(APPLICATION_INSTANCE_RULES, instance, situation.before),
    ...integerIsNotExact(instance),
    ...(await signatureIsNotValid(instance, situation)),
    ...(await approvalIsNotGiven(instance, situation)),
  ];
}
