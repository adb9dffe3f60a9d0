import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { chartIsNotAllowed } from '../../policy/chart-is-not-allowed.ts';
import { checkApplicationInstance } from '../../policy/check-application-instance.ts';
import { Reason } from '../../resources/reasons.ts';
import { refusalText, type PolicySituation, type PolicyViolation } from '../../policy/policy-violation.ts';
import { stalled, type Verdict } from './verdict.ts';

/**
 * Why an instance may not be released on this cluster, or undefined. Runs at every pass, whatever admission said.
 *
 * @param pinned what is released instead of its spec: its chart is judged then, whether the spec's would be allowed or not
 */
export async function policyVerdict(
  instance: ApplicationInstance,
  situation: PolicySituation,
  pinned?: ApplicationInstance,
): Promise<Verdict | undefined> {
  const violations = await checkApplicationInstance(instance, situation);
  if (pinned === undefined) return verdictOf(violations);
  const others = violations.filter(({ reason }) => reason !== Reason.ChartNotAllowed);
  return verdictOf([...others, ...chartIsNotAllowed(pinned, situation)]);
}

/** What is refused; the first decides the reason. */
export function verdictOf(violations: readonly PolicyViolation[]): Verdict | undefined {
  const [first] = violations;
  return first === undefined ? undefined : stalled(first.reason, refusalText(violations));
}
