import type { ObjectRule } from '../resources/object-rule.ts';
import { Reason } from '../resources/reasons.ts';
import type { PolicyViolation } from './policy-violation.ts';

/**
 * The spec breaks a rule of its kind, by itself or by what it changes. A server that honours CEL refuses most of it
 * already; an older one, and definitions without the rules, do not.
 *
 * @param before of the same kind as `after`
 */
export function ruleIsBroken<T>(
  rules: readonly ObjectRule<T>[],
  after: T,
  before: object | undefined,
): readonly PolicyViolation[] {
  return rules
    .filter((rule) => rule.isBroken(after, before as T | undefined))
    .map(({ message, at }) => ({
      reason: Reason.SpecInvalid,
      message,
      fault: { path: at.replace(/^spec/, '').replaceAll('.', '/'), message },
    }));
}
