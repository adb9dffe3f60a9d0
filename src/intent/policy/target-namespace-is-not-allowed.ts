import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { listing, type Violation } from '../violation.ts';

/** The application would be installed into a namespace that the operator may not manage on this cluster. */
export function targetNamespaceIsNotAllowed(intent: IntentRequest, context: PolicyContext): Violation[] {
  const { targetNamespace } = intent;
  const allowed = context.allowedNamespaces;
  if (targetNamespace === undefined || allowed.includes(targetNamespace)) return [];
  const message = `namespace ${targetNamespace} is not allowed on this cluster; ${listing(allowed)}`;
  return [{ code: 'forbidden', path: '/targetNamespace', message, allowed }];
}
