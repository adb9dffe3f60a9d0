import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { listing, type Violation } from '../violation.ts';

/** It would wait for an instance in a namespace where none can become Ready. What is not installed yet may be waited for. */
export function dependencyIsNotAllowed(intent: IntentRequest, context: PolicyContext): Violation[] {
  const allowed = context.allowedNamespaces;
  return (intent.dependsOn ?? []).flatMap(({ namespace }, index): Violation[] => {
    if (namespace === undefined || allowed.includes(namespace)) return [];
    const message = `namespace ${namespace} is not allowed on this cluster; ${listing(allowed)}`;
    return [{ code: 'forbidden', path: `/dependsOn/${index}/namespace`, message, allowed }];
  });
}
