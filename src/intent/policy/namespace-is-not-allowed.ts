import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { listing, type Violation } from '../violation.ts';

/** The intent is about a namespace that the operator may not manage on this cluster. */
export function namespaceIsNotAllowed(intent: IntentRequest, context: PolicyContext): Violation[] {
  const allowed = context.allowedNamespaces;
  if (allowed.includes(intent.namespace)) return [];
  const message = `namespace ${intent.namespace} is not allowed on this cluster; ${listing(allowed)}`;
  return [{ code: 'forbidden', path: '/namespace', message, allowed }];
}
