import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import { renderIntent, type RenderInputs } from '../../intent/render.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { Clock } from '../../runtime/clock.ts';
import { renderInputsOf } from '../accept-intent.ts';
import type { RequiredApprovals } from '../git/git-settings.ts';
import { approvalsOfIntents, updateApproval } from '../store/approvals.ts';
import { findCatalogEntry } from '../store/catalog-entries.ts';
import type { QueuedIntent } from '../store/delivery-queue.ts';
import type { Store } from '../store/open-store.ts';
import { proposalsOfIntents, UNDECIDED } from '../store/proposals.ts';
import type { ApprovalRow, Database, ProposalRow } from '../store/schema.ts';
import { APPROVAL_EXPIRED, endLate, failIntent } from './carry-out.ts';
import { allMissing, requestApproval, specHashOf, waitingReason } from './request-approval.ts';
import { subjectOf } from './effects.ts';
import { requirementIn, requirementsOf } from './requirements.ts';
import { inputsIn } from './sign-statement.ts';
import { noteIntents } from '../store/changes.ts';
import { isReviewedInGit } from './standing.ts';

type Due =
  /** It is not approved, and nothing on its way would approve it. */
  | { readonly kind: 'hold'; readonly approval: ApprovalRow }
  /** It needs an approval by now. */
  | { readonly kind: 'ask'; readonly required: RequiredApprovals; readonly isHeld: boolean }
  /** What approved it is over. */
  | { readonly kind: 'late'; readonly approval: ApprovalRow }
  | { readonly kind: 'end'; readonly why: string };

/**
 * Looks once more, before intents are delivered: one that needs an approval and has none waits for it, whatever became of
 * settings and modes since it was accepted; one whose approval is over ends. What is delivered once more for a switch of
 * mode was approved before.
 *
 * @returns ids of the intents that changed: they are to be read again
 */
export async function holdUnapproved(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  batch: readonly QueuedIntent[],
): Promise<readonly string[]> {
  const now = clock.now();
  if ((await whatIsDue(store.db, batch, now)).size === 0) return [];
  return await store.write(async (trx) => {
    const due = await whatIsDue(trx, batch, now);
    const changed: string[] = [];
    for (const intent of batch) {
      const one = due.get(intent.id);
      if (one === undefined) continue;
      if (one.kind === 'end') await failIntent(trx, intent.id, `${APPROVAL_EXPIRED}: ${one.why}`);
      else if (one.kind === 'late') await endLate(trx, one.approval, intent, now);
      else if (!(await hold(trx, intent, one, now))) continue;
      changed.push(intent.id);
    }
    return changed;
  });
}

async function whatIsDue(
  db: Kysely<Database>,
  batch: readonly QueuedIntent[],
  now: Date,
): Promise<ReadonlyMap<string, Due>> {
  const queued = batch.filter(({ handover }) => handover === null);
  const ids = queued.map(({ id }) => id);
  const approvals = await approvalsOfIntents(db, ids);
  const proposals = await proposalsOfIntents(db, ids);
  const requirements = await requirementsOf(db, queued.map(subjectOf));
  const due = new Map<string, Due>();
  for (const [index, intent] of queued.entries()) {
    const one = dueOf(intent, approvals.get(intent.id), proposals.get(intent.id), requirements[index], now);
    if (one !== undefined) due.set(intent.id, one);
  }
  return due;
}

function dueOf(
  intent: QueuedIntent,
  approval: ApprovalRow | undefined,
  proposal: ProposalRow | undefined,
  required: RequiredApprovals | undefined,
  now: Date,
): Due | undefined {
  const isReviewed = isReviewedInGit(intent) || (proposal !== undefined && UNDECIDED.includes(proposal.state));
  if (approval === undefined) {
    // One that was rendered for its cluster before was taken as it was.
    if (required === undefined || intent.render_inputs !== null) return undefined;
    return { kind: 'ask', required, isHeld: !isReviewed };
  }
  switch (approval.state) {
    case 'pending':
      return isReviewed ? undefined : { kind: 'hold', approval };
    case 'approved':
      return isLate(approval, now) && intent.applied_at === null && intent.action !== 'uninstall'
        ? { kind: 'late', approval }
        : undefined;
    case 'rejected':
    case 'expired':
    case 'withdrawn':
      return {
        kind: 'end',
        why: `approval ${approval.id} is ${approval.state}${approval.reason === null ? '' : `: ${approval.reason}`}`,
      };
  }
}

function isLate({ statement_expires_at: until }: ApprovalRow, now: Date): boolean {
  return until !== null && until <= now.toISOString();
}

/**
 * Held with what it is rendered with, which is what is approved.
 *
 * @returns whether it is held now; what cannot be rendered is refused for that where it is delivered
 */
async function hold(
  trx: Kysely<Database>,
  intent: QueuedIntent,
  due: Exclude<Due, { readonly kind: 'end' | 'late' }>,
  now: Date,
): Promise<boolean> {
  const pinned = await pin(trx, intent);
  if (pinned === undefined) return false;
  const { specHash, inputs } = pinned;
  const required = due.kind === 'ask' ? due.required : requirementIn(due.approval.required);
  const approval = due.kind === 'ask' ? await requestApproval(trx, intent, { required, specHash, now }) : due.approval;
  if (due.kind === 'hold') await updateApproval(trx, approval.id, { spec_hash: specHash });
  if (due.kind === 'ask' && !due.isHeld) return true;
  await trx
    .updateTable('intents')
    .set({
      render_inputs: JSON.stringify(inputs),
      awaits_approval: 1,
      reason: waitingReason(approval.id, allMissing(required)),
    })
    .where('id', '=', intent.id)
    .where('state', '=', 'accepted')
    .execute();
  noteIntents(trx, [intent]);
  return true;
}

async function pin(
  trx: Kysely<Database>,
  intent: QueuedIntent,
): Promise<{ readonly inputs: RenderInputs; readonly specHash: string } | undefined> {
  const record = parseExactJson(intent.record) as IntentRecord;
  const { organization_id: organizationId, cluster_id: clusterId, slug, delivery_epoch: deliveryEpoch } = intent;
  const entry =
    record.catalogEntry === undefined ? undefined : await findCatalogEntry(trx, organizationId, record.catalogEntry);
  const known = intent.render_inputs === null ? renderInputsOf(entry) : inputsIn(intent);
  const inputs = { ...known, approval: { required: true } } as const;
  try {
    return { inputs, specHash: specHashOf(renderIntent(record, { clusterId, slug, deliveryEpoch }, inputs)) };
  } catch {
    return undefined;
  }
}
