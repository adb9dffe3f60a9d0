import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import type { Violation } from '../violation.ts';

/** The cluster may install from the entry, but the organization's catalog has none of this name. */
export function catalogEntryIsUnknown(intent: IntentRequest, context: PolicyContext): Violation[] {
  const { catalogEntry } = intent;
  if (catalogEntry === undefined || context.catalogEntry !== undefined) return [];
  // A name that is not allowed is refused as that: whether it exists is nobody's business then.
  if (!context.allowedCatalogEntries.includes(catalogEntry)) return [];
  const message = `catalog entry ${catalogEntry} is not in the organization's catalog; add it with PUT /api/v1/catalog/${catalogEntry}`;
  return [{ code: 'constraint_violated', path: '/catalogEntry', message }];
}
