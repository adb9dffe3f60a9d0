import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { listing, type Violation } from '../violation.ts';

/** The cluster may not install from this catalog entry, whether or not the entry exists. */
export function catalogEntryIsNotAllowed(intent: IntentRequest, context: PolicyContext): Violation[] {
  const { catalogEntry } = intent;
  const allowed = context.allowedCatalogEntries;
  if (catalogEntry === undefined || allowed.includes(catalogEntry)) return [];
  const message = `catalog entry ${catalogEntry} is not allowed on this cluster; ${listing(allowed)}`;
  return [{ code: 'forbidden', path: '/catalogEntry', message, allowed }];
}
