import { parseExactJson } from '../protocol/exact-json.ts';
import type { Kysely } from 'kysely';
import { carriedSealedValues, carryForward } from '../intent/carry-forward.ts';
import { throwIfRefused, throwIfTooLarge } from '../intent/check-intent.ts';
import { intentIdempotencyKey } from '../intent/intent-key.ts';
import type { IntentAction, IntentRecord } from '../intent/intent-record.ts';
import type { IntentRequest } from '../intent/intent-request.ts';
import { renderIntent, type RenderInputs } from '../intent/render.ts';
import { AppError } from '../protocol/app-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { APPROVAL_BYTES, approvalNeeded, requestApproval, specHashOf } from './approvals/request-approval.ts';
import { clusterViolations } from './cluster-violations.ts';
import { policyOfCluster } from './policy-of-cluster.ts';
import { requestHash } from './request-hash.ts';
import { SIGNATURE_BYTES } from './sign-rendered.ts';
import { baseOf } from './intent-base.ts';
import { recordOf, templatePin } from './intent-record-of.ts';
import { assertDeliverable, generationIsAsExpected, intentViolations } from './intent-refusals.ts';
import type { MasterKey } from './master-key.ts';
import { keysAreOlder, sealSecretValues, valuesToStore, type Sealing } from './seal-secret-values.ts';
import { appendAudit } from './store/audit.ts';
import type { AuditKind } from './store/audit-kinds.ts';
import { findCatalogEntry, type StoredCatalogEntry } from './store/catalog-entries.ts';
import { findCluster } from './store/clusters.ts';
import { insertIntent, lastIntentOf, targetKindOf } from './store/intents.ts';
import type { Store } from './store/open-store.ts';
import { findOrganization } from './store/organizations.ts';
import { reportedGenerationOf } from './store/reported-generations.ts';
import { findRequestKey, insertRequestKey } from './store/request-keys.ts';
import type { Database, IntentRow } from './store/schema.ts';
import { DELIVERY_TOPIC } from './topics.ts';
import { requireValuesFit, valuesToCheck, type UncheckedValues } from './require-values-fit.ts';
import { rollbackValues } from './rollback-values.ts';
import type { ValuesChecker } from './values-checker.ts';
import type { Wakeups } from './wakeups.ts';

/** How often an intent is tried: again when its values are checked, and when a key or the schema was replaced meanwhile. */
const MAX_TRIES = 5;

/** How each action is named in the audit. */
const AUDIT_KINDS: Readonly<Record<IntentAction, AuditKind>> = {
  install: 'Deploy',
  update: 'AppUpdate',
  uninstall: 'AppUninstall',
  operate: 'OperationRequested',
};

export interface AcceptIntentDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly masterKey: Pick<MasterKey, 'derive'>;
  readonly valuesChecker: Pick<ValuesChecker, 'check'>;
}

export interface IntentSubmission {
  readonly clusterId: string;
  readonly request: IntentRequest;
  readonly requestedBy: string;
  /** Hash of the admin token that asked. */
  readonly requestedWith?: string;
  /** `Idempotency-Key` of the request. */
  readonly requestKey: string | undefined;
}

/** The answer to an accepted intent; a repeated request key gets the same again. */
export interface AcceptedIntent {
  readonly id: string;
  readonly generation: number;
  readonly state: 'accepted';
}

/**
 * Checks, numbers, renders and stores an intent, in one durable write with its audit entry, and wakes delivery. A refusal
 * stores nothing. What is stored has been rendered once, so nothing that cannot be delivered is ever accepted.
 *
 * @throws AppError with every fault of the intent, `conflict` for a request key that was used for another request, or
 *   `not_found` when the cluster was deleted meanwhile
 */
export async function acceptIntent(deps: AcceptIntentDeps, submission: IntentSubmission): Promise<AcceptedIntent> {
  let checked: string | undefined;
  for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
    // Both before the transaction, which sealing would hold up, and a check by a schema of any kind even more.
    const sealing = await sealSecretValues(deps.store.db, submission.clusterId, submission.request);
    const outcome = await deps.store.write(async (trx) => await acceptIn(trx, deps, submission, sealing, checked));
    if (outcome === 'keys changed') continue;
    if ('unchecked' in outcome) {
      await requireValuesFit(deps.valuesChecker, outcome.unchecked);
      checked = outcome.unchecked.text;
      continue;
    }
    deps.wakeups.notify(DELIVERY_TOPIC);
    return outcome;
  }
  throw new AppError(
    'unavailable',
    "the cluster's keys or the catalog entry are being replaced; send the intent again",
  );
}

/** `checked`: the text of the check that the values passed. A transaction that needs another one has written nothing. */
async function acceptIn(
  trx: Kysely<Database>,
  deps: AcceptIntentDeps,
  submission: IntentSubmission,
  sealing: Sealing | undefined,
  checked: string | undefined,
): Promise<AcceptedIntent | 'keys changed' | { readonly unchecked: UncheckedValues }> {
  const { clusterId, requestKey } = submission;
  // Read again here: what the cluster allows may have changed since the request was authenticated.
  const cluster = await findCluster(trx, clusterId);
  if (cluster === undefined) throw new AppError('not_found', `there is no cluster ${clusterId}; it was just deleted`);
  const hash = requestHash(submission.request, deps.masterKey);
  const repeated = requestKey === undefined ? undefined : await answerBefore(trx, clusterId, requestKey, hash);
  if (repeated !== undefined) return repeated;
  assertDeliverable(cluster);

  const { action, namespace, name } = submission.request;
  const kind = targetKindOf(action);
  const last = await lastIntentOf(trx, { clusterId, kind, namespace, name });
  generationIsAsExpected(submission.request, last);
  const { standing, ...others } = await baseOf(trx, submission.request, cluster, last);
  const organization = await findOrganization(trx, cluster.organization_id);
  const keys = { ...cluster, recovery_public_key: organization?.recovery_public_key ?? null };
  if (sealing !== undefined && keysAreOlder(sealing, keys)) return 'keys changed';
  const lastRecord = standing && (parseExactJson(standing.record) as IntentRecord);
  const request = carryForward(submission.request, lastRecord);
  const carried = carriedSealedValues(request, lastRecord);
  const entry =
    request.catalogEntry === undefined
      ? undefined
      : await findCatalogEntry(trx, cluster.organization_id, request.catalogEntry);
  throwIfRefused(intentViolations(request, cluster, entry, { standing, ...others }));
  const sealed = valuesToStore(request, sealing, keys, standing, carried);

  const reported = await reportedGenerationOf(trx, { clusterId, kind, namespace, name });
  const generation = Math.max(last?.generation ?? 0, reported) + 1;
  const now = deps.clock.now();
  const record = {
    ...recordOf(request, sealed, submission.requestedBy, generation, now, deps.randomBytes),
    ...templatePin(others.templates),
  };
  const target = { clusterId, slug: cluster.slug, deliveryEpoch: cluster.delivery_epoch };
  const approval = await approvalNeeded(trx, cluster, record);
  const inputs = { ...renderInputsOf(entry), ...approval?.inputs };
  const rendered = renderIntent(record, target, inputs);
  const policy = policyOfCluster(cluster, entry, others.templates?.definition);
  throwIfRefused(await clusterViolations(rendered, policy, now));
  throwIfTooLarge(request, rendered, SIGNATURE_BYTES + (approval === undefined ? 0 : APPROVAL_BYTES));
  // After the size, which bounds what a check may be of.
  const isWhole = request.sealedValues === undefined && carried === undefined;
  const unchecked =
    valuesToCheck(request, cluster.organization_id, entry, isWhole) ??
    (await rollbackValues(trx, cluster, request, others.templates));
  if (unchecked !== undefined && unchecked.text !== checked) return { unchecked };

  // Delivery goes by this time, so it never runs backwards for one object, whatever the clock does.
  const nowText = now.toISOString();
  const acceptedAt = last !== undefined && last.accepted_at > nowText ? last.accepted_at : nowText;
  const row: IntentRow = {
    id: record.id,
    organization_id: cluster.organization_id,
    cluster_id: clusterId,
    target_kind: kind,
    namespace,
    name,
    generation: record.generation,
    action,
    record: JSON.stringify(record),
    idempotency_key: intentIdempotencyKey(record),
    state: 'accepted',
    reason: null,
    requested_by: submission.requestedBy,
    recovery_values: sealed.recoveryValues ?? null,
    // What is looked at and approved is what is delivered, whatever becomes of the catalog meanwhile.
    render_inputs: approval?.held.awaits_approval === 1 ? JSON.stringify(inputs) : null,
    awaits_approval: null,
    accepted_at: acceptedAt,
    delivered_at: null,
    applied_at: null,
    ready_at: null,
    ...approval?.held,
  };
  await insertIntent(trx, row);
  if (approval !== undefined) {
    const { requestedWith } = submission;
    const { required } = approval;
    await requestApproval(trx, row, { required, specHash: specHashOf(rendered), requestedWith, now });
  }
  await appendAudit(trx, {
    organizationId: cluster.organization_id,
    at: acceptedAt,
    source: 'user',
    kind: AUDIT_KINDS[action],
    clusterId,
    actor: submission.requestedBy,
    summary: summaryOf(record, cluster.slug),
    intentId: record.id,
    ...(record.reason === undefined ? {} : { reason: record.reason }),
  });
  if (requestKey !== undefined) {
    await insertRequestKey(trx, {
      cluster_id: clusterId,
      request_key: requestKey,
      request_hash: hash,
      intent_id: record.id,
      created_at: nowText,
    });
  }
  return { id: record.id, generation: record.generation, state: 'accepted' };
}

/** What rendering takes from the catalog. The object's UID is added where a tombstone is delivered. */
export function renderInputsOf(entry: StoredCatalogEntry | undefined): RenderInputs {
  if (entry === undefined) return {};
  const { chart, defaultValues } = entry;
  return { chart, ...(defaultValues === undefined ? {} : { defaultValues }) };
}

async function answerBefore(
  trx: Kysely<Database>,
  clusterId: string,
  requestKey: string,
  hash: string,
): Promise<AcceptedIntent | undefined> {
  const known = await findRequestKey(trx, clusterId, requestKey);
  if (known === undefined) return undefined;
  if (known.request_hash !== hash) {
    throw new AppError('conflict', 'this Idempotency-Key was used for another intent; use a new key for each intent', {
      extra: { intentId: known.intent_id },
    });
  }
  const { id, generation } = await trx
    .selectFrom('intents')
    .select(['id', 'generation'])
    .where('id', '=', known.intent_id)
    .executeTakeFirstOrThrow();
  return { id, generation, state: 'accepted' };
}

function summaryOf({ action, namespace, name, ...rest }: IntentRecord, slug: string): string {
  const what = action === 'operate' ? `${rest.operationTemplate} as ${namespace}/${name}` : `${namespace}/${name}`;
  const version = rest.chartVersion === undefined ? '' : ` ${rest.chartVersion}`;
  return `${slug}: ${action} ${what}${version}`;
}
