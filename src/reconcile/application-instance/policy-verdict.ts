import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { checkApplicationInstance } from '../../policy/check-application-instance.ts';
import { refusalText, type PolicySituation, type PolicyViolation } from '../../policy/policy-violation.ts';
import { stalled, type Verdict } from './verdict.ts';

/** Why an instance may not be released on this cluster, or undefined. Runs at every pass, whatever admission said. */
export async function policyVerdict(
  instance: ApplicationInstance,
  situation: PolicySituation,
): Promise<Verdict | undefined> {
  return verdictOf(await checkApplicationInstance(instance, situation));
}

/** What is refused; the first decides the reason. */
export function verdictOf(violations: readonly PolicyViolation[]): Verdict | undefined {
  const [first] = violations;
  return first === undefined ? undefined : stalled(first.reason, refusalText(violations));
}
