import { operatorSupport, supportedMinors, type OperatorSupport } from '../../../protocol/version-skew.ts';
import type { Condition } from '../../../protocol/condition.ts';

/** Every reason of `OperatorSupported`, by what is found. */
const REASONS: Readonly<Record<OperatorSupport, string>> = {
  supported: 'WithinSkew',
  tooOld: 'OperatorTooOld',
  newer: 'OperatorNewer',
};

/** `OperatorSupported`, which the control plane alone writes: is the operator's version one that it works with? */
export function operatorCondition(controlPlane: string, operator: string | null): Condition[] {
  const support = operator === null ? undefined : operatorSupport(controlPlane, operator);
  if (support === undefined) return [];
  const works = `operator ${operator}; control plane ${controlPlane} works with ${supportedMinors(controlPlane)}`;
  const todo = { supported: '', tooOld: '. Upgrade the operator', newer: '. Upgrade the control plane' }[support];
  return [
    {
      type: 'OperatorSupported',
      status: support === 'supported' ? 'True' : 'False',
      reason: REASONS[support],
      message: works + todo,
    },
  ];
}
