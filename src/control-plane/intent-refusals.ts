import { checkIntent } from '../intent/check-intent.ts';
import type { IntentRecord } from '../intent/intent-record.ts';
import type { IntentRequest } from '../intent/intent-request.ts';
import type { PolicyContext } from '../intent/policy-context.ts';
import type { Violation } from '../intent/violation.ts';
import { deliverableNow } from '../delivery/select-delivery.ts';
import { AppError } from '../protocol/app-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { refusal } from '../protocol/parse.ts';
import { namesIn } from './cluster-settings.ts';
import type { IntentBase } from './intent-base.ts';
import type { StoredCatalogEntry } from './store/catalog-entries.ts';
import type { ClusterRow, IntentRow } from './store/schema.ts';

/** @throws AppError `cluster_disabled`, or `constraint_violated` where nothing can be delivered to it as it is set up */
export function assertDeliverable(cluster: ClusterRow): void {
  if (cluster.disabled_at !== null) {
    throw new AppError('cluster_disabled', `cluster ${cluster.slug} is disabled; enable it first`);
  }
  const { id: clusterId, connectivity_mode: mode, repository_id: repositoryId } = cluster;
  const why = deliverableNow({ clusterId, mode, repositoryId });
  if (why === undefined) return;
  const message = `cluster ${cluster.slug} ${why}`;
  throw refusal([{ path: '/connectivityMode', message }]);
}

/** What forbids an intent whose fields were carried forward, before it is rendered. */
export function intentViolations(
  request: IntentRequest,
  cluster: ClusterRow,
  entry: StoredCatalogEntry | undefined,
  { standing, undecided, circle, templates, isNameReported }: IntentBase,
): Violation[] {
  return checkIntent(request, {
    allowedNamespaces: namesIn(cluster.allowed_namespaces),
    allowedCatalogEntries: namesIn(cluster.allowed_catalog_entries),
    allowedOperationTemplates: namesIn(cluster.allowed_operation_templates),
    ...(entry === undefined ? {} : { catalogEntry: entry }),
    ...(standing === undefined ? {} : { lastIntent: standing, lastOptions: optionsOf(standing) }),
    ...(circle === undefined ? {} : { circle }),
    ...(templates === undefined ? {} : { templates }),
    ...(undecided === undefined ? {} : { undecidedProposal: undecided }),
    isNameReported,
  });
}

/** What an update goes on from; of an uninstall there is nothing to compare with, and no update is taken after one. */
function optionsOf({ record }: IntentRow): NonNullable<PolicyContext['lastOptions']> {
  return parseExactJson(record) as IntentRecord;
}

/**
 * For whoever read, thought and writes: somebody else's intent in between is not overwritten.
 *
 * @throws AppError `conflict`
 */
export function generationIsAsExpected(
  { expectedGeneration: expected }: IntentRequest,
  last: IntentRow | undefined,
): void {
  const generation = last?.generation ?? 0;
  if (expected === undefined || expected === generation) return;
  throw new AppError('conflict', `the newest intent about this object has generation ${generation}, not ${expected}`, {
    extra: { generation },
  });
}
