import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { listing, type Violation } from '../violation.ts';

/**
 * There is no operation template of that name, or it does not take these parameters: every fault of them, each with its
 * place. A name that is not allowed is refused as that: whether there is such a template is nobody's business then.
 */
export function parametersDoNotFit({ operationTemplate: name }: IntentRequest, context: PolicyContext): Violation[] {
  const { templates } = context;
  if (name === undefined || templates === undefined || !context.allowedOperationTemplates.includes(name)) return [];
  if (templates.faults === undefined) {
    const message = `operation template ${name} is allowed here and is not there; ${listing(templates.names)}; an admin makes it with PUT /api/v1/operation-templates/${name} (servicectl templates put)`;
    return [{ code: 'constraint_violated', path: '/operationTemplate', message, allowed: templates.names }];
  }
  return templates.faults.map((fault) => ({ code: 'constraint_violated', ...fault }));
}
