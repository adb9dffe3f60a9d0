import { INSTANCE_OPTION_NAMES } from '../../resources/instance-options.ts';
import { OPERATION_OPTION_NAMES } from '../../resources/operation.ts';
import type { IntentAction } from '../intent-record.ts';
import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import type { Violation } from '../violation.ts';
import { actionDoesNotFitHistory } from './action-does-not-fit-history.ts';

const ACTION_FIELDS = [
  'catalogEntry',
  'chartVersion',
  'values',
  'secretValues',
  'sealedValues',
  'recoveryValues',
  ...INSTANCE_OPTION_NAMES,
  'operationTemplate',
  'parameters',
  ...OPERATION_OPTION_NAMES,
] as const satisfies readonly (keyof IntentRequest)[];
type ActionField = (typeof ACTION_FIELDS)[number];

const INSTANCE_FIELDS = ['values', 'secretValues', 'sealedValues', 'recoveryValues', ...INSTANCE_OPTION_NAMES] as const;

/** The fields that an action needs and may have, beyond `action`, `namespace`, `name` and `reason`. */
const FIELDS: Readonly<
  Record<IntentAction, { readonly required: readonly ActionField[]; readonly optional: readonly ActionField[] }>
> = {
  install: { required: ['catalogEntry', 'chartVersion'], optional: INSTANCE_FIELDS },
  update: { required: ['catalogEntry', 'chartVersion'], optional: INSTANCE_FIELDS },
  uninstall: { required: [], optional: [] },
  operate: { required: ['operationTemplate'], optional: ['parameters', ...OPERATION_OPTION_NAMES] },
};

/**
 * The action lacks a field that it needs, or has one that belongs to another action. An update is judged after
 * `carryForward`, so it lacks nothing that the intent before it had; one of what is not there lacks nothing at all, since no
 * field would mend it.
 */
export function actionLacksField(intent: IntentRequest, context: PolicyContext): Violation[] {
  const { required, optional } = FIELDS[intent.action];
  const hasNothingToChange = intent.action === 'update' && actionDoesNotFitHistory(intent, context).length > 0;
  const allowed = [...required, ...optional];
  const takes = allowed.length === 0 ? 'none of the optional fields but reason' : `${allowed.join(', ')} and reason`;
  return ACTION_FIELDS.flatMap((field): Violation[] => {
    const path = `/${field}`;
    if (intent[field] === undefined) {
      const missing = `is required for action ${intent.action}`;
      return required.includes(field) && !hasNothingToChange
        ? [{ code: 'constraint_violated', path, message: missing }]
        : [];
    }
    if (allowed.includes(field)) return [];
    const message = `does not belong to action ${intent.action}, which takes ${takes}`;
    return [{ code: 'constraint_violated', path, message, allowed }];
  });
}
