import type { IntentRequest } from '../intent-request.ts';
import type { Violation } from '../violation.ts';

/** Secret values come in one form: in the clear, to be sealed here, or sealed already. */
export function sealedValuesDoNotFit(intent: IntentRequest): Violation[] {
  const { secretValues, sealedValues, recoveryValues } = intent;
  if (secretValues !== undefined && sealedValues !== undefined) {
    const message = 'excludes secretValues, which are sealed here; send one of the two';
    return [{ code: 'constraint_violated', path: '/sealedValues', message }];
  }
  if (recoveryValues !== undefined && sealedValues === undefined) {
    const message = 'belongs to sealedValues: the same values, sealed to the recovery key';
    return [{ code: 'constraint_violated', path: '/recoveryValues', message }];
  }
  return [];
}
