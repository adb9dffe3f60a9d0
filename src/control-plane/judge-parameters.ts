import type { IntentRequest } from '../intent/intent-request.ts';
import type { PolicyContext } from '../intent/policy-context.ts';
import { parameterFaults } from '../operation-templates/parameter-faults.ts';
import { resolveTemplate } from '../operation-templates/resolve-template.ts';
import type { OperationTemplateDefinition } from '../protocol/operation-template.ts';

/** What there is to say of an operation's template, its parameters and its target; undefined of any other intent. */
export function judgeParameters(
  { operationTemplate: name, parameters = {}, targetRef }: IntentRequest,
  definition: OperationTemplateDefinition | undefined,
  names: readonly string[],
): PolicyContext['templates'] {
  if (name === undefined) return undefined;
  const resolved = resolveTemplate(name, definition === undefined ? [] : [definition]);
  const faults = resolved === undefined ? undefined : parameterFaults(resolved, parameters, targetRef);
  return { definition, names, ...(faults === undefined ? {} : { faults }) };
}
