import semver from 'semver';
import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import type { Violation } from '../violation.ts';

/** The chart version is not in the range that the catalog entry allows. Pre-releases only where the range names one. */
export function versionIsOutsideRange(intent: IntentRequest, context: PolicyContext): Violation[] {
  const { chartVersion, catalogEntry } = intent;
  const range = context.catalogEntry?.versions;
  if (chartVersion === undefined || range === undefined || catalogEntry === undefined) return [];
  // An entry that the cluster may not use does not tell its versions either.
  if (!context.allowedCatalogEntries.includes(catalogEntry) || semver.satisfies(chartVersion, range)) return [];
  const message = `chart version ${chartVersion} is outside the range of catalog entry ${catalogEntry}; allowed: ${range}`;
  return [{ code: 'constraint_violated', path: '/chartVersion', message, allowed: { range } }];
}
