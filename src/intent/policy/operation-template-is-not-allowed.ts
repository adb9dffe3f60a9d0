import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { listing, type Violation } from '../violation.ts';

/** The cluster may not run this operation template. */
export function operationTemplateIsNotAllowed(intent: IntentRequest, context: PolicyContext): Violation[] {
  const { operationTemplate } = intent;
  const allowed = context.allowedOperationTemplates;
  if (operationTemplate === undefined || allowed.includes(operationTemplate)) return [];
  const message = `operation template ${operationTemplate} is not allowed on this cluster; ${listing(allowed)}`;
  return [{ code: 'forbidden', path: '/operationTemplate', message, allowed }];
}
