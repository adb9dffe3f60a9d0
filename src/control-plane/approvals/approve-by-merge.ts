import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import { renderIntent } from '../../intent/render.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { countApprovals } from '../proposals/count-approvals.ts';
import { standingOf } from '../proposals/standing.ts';
import { approvalsOfIntents, insertApprovalReviews, updateApproval } from '../store/approvals.ts';
import { proposalsOfIntents } from '../store/proposals.ts';
import type { Database, IntentRow } from '../store/schema.ts';
import { carryOutApproval } from './carry-out.ts';
import { ONLY_REVISION } from './decide-approval.ts';
import { requestApproval, REQUEST_LIFETIME_MS, specHashOf } from './request-approval.ts';
import { subjectOf } from './effects.ts';
import { requirementsOf } from './requirements.ts';
import { inputsIn } from './sign-statement.ts';
import { approvalStanding } from './standing.ts';

/**
 * The proposal of an intent was merged: that is its approval, as if those who approved the proposal had approved the intent.
 * Counted are the approvals that were given here. What a Git host has let somebody merge with fewer of them stays
 * pending: its file is in Git, its operator runs nothing of it, and the rest may be given by the API. In the transaction
 * that stores the merge, after it. Twice is once. Notify `APPROVALS_TOPIC` after the commit.
 */
export async function approveByMerge(trx: Kysely<Database>, intentId: string, now: Date): Promise<void> {
  const proposal = (await proposalsOfIntents(trx, [intentId])).get(intentId);
  if (proposal === undefined) return;
  const intent = await trx.selectFrom('intents').selectAll().where('id', '=', intentId).executeTakeFirstOrThrow();
  const row = (await approvalsOfIntents(trx, [intentId])).get(intentId) ?? (await askedForNow(trx, intent, now));
  if (row?.state !== 'pending') return;
  const { reviewRows, reviews, ...standing } = await standingOf(trx, proposal, now);
  const { given } = countApprovals({ ...standing, reviews }, standing.required, standing.holders);
  const counted = reviewRows.filter(
    ({ kind, actor, revision, dropped_at: droppedAt }) =>
      kind === 'approve' && revision === proposal.revision && droppedAt === null && given.includes(actor),
  );
  await insertApprovalReviews(
    trx,
    counted.map(({ id, actor, roles, token_hash, at, comment }) => ({
      id,
      approval_id: row.id,
      kind: 'approve' as const,
      actor,
      roles,
      token_hash,
      at,
      comment,
    })),
  );
  const merged = {
    ...row,
    proposal_id: proposal.id,
    // Of what was merged, which may have been rendered anew since it was asked for.
    spec_hash: await hashOf(trx, intent),
    expires_at: new Date(now.getTime() + REQUEST_LIFETIME_MS).toISOString(),
  };
  const approval = await approvalStanding(trx, merged, now);
  if (approval === undefined) return;
  const { isEnough } = countApprovals(
    { author: row.requested_by, revision: ONLY_REVISION, reviews: approval.reviews },
    approval.required,
    approval.holders,
  );
  await updateApproval(trx, row.id, {
    proposal_id: proposal.id,
    spec_hash: merged.spec_hash,
    expires_at: merged.expires_at,
  });
  if (!isEnough) return;
  const names = given.join(', ');
  await carryOutApproval(trx, approval, {
    at: now,
    actor: given[0] ?? row.requested_by,
    says: `was approved by ${names} and merged as ${proposal.id}`,
    isEnough,
    via: 'proposal',
    proposalId: proposal.id,
  });
}

/** It needs one by now, and needed none when it was accepted. */
async function askedForNow(trx: Kysely<Database>, intent: IntentRow, now: Date) {
  const [required] = await requirementsOf(trx, [subjectOf(intent)]);
  if (required === undefined) return undefined;
  return await requestApproval(trx, intent, { required, specHash: await hashOf(trx, intent), now });
}

async function hashOf(trx: Kysely<Database>, intent: IntentRow): Promise<string> {
  const { slug, delivery_epoch: deliveryEpoch } = await trx
    .selectFrom('clusters')
    .select(['slug', 'delivery_epoch'])
    .where('id', '=', intent.cluster_id)
    .executeTakeFirstOrThrow();
  const record = parseExactJson(intent.record) as IntentRecord;
  return specHashOf(renderIntent(record, { clusterId: intent.cluster_id, slug, deliveryEpoch }, inputsIn(intent)));
}
