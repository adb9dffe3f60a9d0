import type { Kysely } from 'kysely';
import type { IntentRecord } from '../intent/intent-record.ts';
import type { IntentRequest } from '../intent/intent-request.ts';
import type { PolicyContext } from '../intent/policy-context.ts';
import { builtInParameters, resolveTemplate } from '../operation-templates/resolve-template.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { gitSettingsOf } from './git/git-settings.ts';
import type { UncheckedValues } from './require-values-fit.ts';
import { findCatalogEntry } from './store/catalog-entries.ts';
import { lastStandingIntentOf } from './store/intents.ts';
import type { ClusterRow, Database } from './store/schema.ts';
import { checkText } from './values-checker.ts';

/**
 * The values that an operation takes an application back to, with the schema of the catalog entry that the application is of:
 * they are released instead of the intent's, which the schema has judged. As at the operator they count whole, so nothing of
 * the entry's default values is added; secret values stay beside them. Undefined where no values are named, or where no
 * intent of the application is known here.
 */
export async function rollbackValues(
  db: Kysely<Database>,
  cluster: ClusterRow,
  request: IntentRequest,
  templates: PolicyContext['templates'],
): Promise<UncheckedValues | undefined> {
  const given = namedValues(request, templates);
  if (given === undefined) return undefined;
  const standing = await lastStandingIntentOf(
    db,
    { clusterId: cluster.id, kind: 'ApplicationInstance', namespace: request.namespace, name: given.application },
    {
      upTo: 'merged',
      isReviewed: cluster.connectivity_mode === 'gitops' && gitSettingsOf(cluster).review === 'proposal',
    },
  );
  if (standing === undefined) return undefined;
  const { catalogEntry, sealedValues } = parseExactJson(standing.record) as IntentRecord;
  if (catalogEntry === undefined) return undefined;
  const entry = await findCatalogEntry(db, cluster.organization_id, catalogEntry);
  if (entry?.valuesSchema === undefined) return undefined;
  const { valuesSchema: schema } = entry;
  const text = checkText({ schema, values: given.values, isWhole: sealedValues === undefined, isNew: false });
  return { organizationId: cluster.organization_id, entry: entry.name, text, at: given.at };
}

interface NamedValues {
  readonly application: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Where the request has them. */
  readonly at: string;
}

function namedValues(
  { operationTemplate, parameters = {}, targetRef }: IntentRequest,
  templates: PolicyContext['templates'],
): NamedValues | undefined {
  if (operationTemplate === undefined) return undefined;
  const definition = templates?.definition;
  const resolved = resolveTemplate(operationTemplate, definition === undefined ? [] : [definition]);
  if (resolved?.runs !== 'release-rollback' || (templates?.faults ?? []).length > 0) return undefined;
  const { application, values } = builtInParameters(resolved, parameters);
  if (typeof values !== 'object' || values === null) return undefined;
  const name = targetRef?.name ?? (typeof application === 'string' ? application : '');
  // Where a template of an admin has them in its parameters only that knows.
  const at = resolved.definition?.run === undefined ? '/parameters/values' : '/parameters';
  return { application: name, values: values as NamedValues['values'], at };
}
