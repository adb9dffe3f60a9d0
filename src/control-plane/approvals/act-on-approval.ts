import { AppError, type ErrorCode } from '../../protocol/app-error.ts';
import { newId } from '../../protocol/ids.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import { approvalsOfIntents, insertApprovalReviews, lockApproval } from '../store/approvals.ts';
import type { ApprovalReviewRow } from '../store/schema.ts';
import { APPROVALS_TOPIC, DELIVERY_TOPIC } from '../topics.ts';
import { carryOutApproval, endApproval } from './carry-out.ts';
import { decideApproval, type ApprovalAct } from './decide-approval.ts';
import { signStatement, type SignStatementDeps } from './sign-statement.ts';
import { approvalStanding } from './standing.ts';
import { tellApproval } from './tell-approval.ts';

export interface ActOnApprovalDeps extends SignStatementDeps {
  readonly randomBytes: (n: number) => Uint8Array;
}

type Outcome =
  | { readonly kind: 'nothing' | 'changed' | 'approved'; readonly id: string }
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly message: string;
      readonly extra?: Record<string, unknown>;
    };

/**
 * One act of a person on what an intent needs to be approved by, in one durable write with its audit entry. The same act
 * again changes nothing. A refused one is written to the audit log too, before it is answered.
 *
 * @throws AppError `not_found`, `forbidden` (who asked approves), `cluster_disabled`, or `conflict`: another spec was looked
 *   at, it was decided, its time is over, its intent ended, it is approved with its proposal, or needs no approval
 */
export async function actOnApproval(
  deps: ActOnApprovalDeps,
  admin: AdminIdentity,
  intentId: string,
  act: Pick<ApprovalAct, 'kind' | 'specHash'> & { readonly comment?: string | undefined },
): Promise<void> {
  const { store, wakeups } = deps;
  const outcome = await store.write(async (trx): Promise<Outcome> => {
    const intent = await trx
      .selectFrom('intents')
      .select('id')
      .where('id', '=', intentId)
      .where('organization_id', '=', admin.organization.id)
      .executeTakeFirst();
    if (intent === undefined) throw new AppError('not_found', `there is no intent ${intentId}`);
    const found = (await approvalsOfIntents(trx, [intentId])).get(intentId);
    const row = found === undefined ? undefined : await lockApproval(trx, found.id);
    if (row === undefined) throw new AppError('conflict', `intent ${intentId} needs no approval`);
    const now = deps.clock.now();
    const at = now.toISOString();
    const read = await approvalStanding(trx, row, now);
    if (read === undefined) throw new AppError('not_found', `there is no intent ${intentId}; it was just deleted`);
    const { name: actor, roles, tokenHash: token } = admin;
    // The approver came in with a token just now.
    const holders = new Map(read.holders);
    if (!holders.has(actor)) holders.set(actor, { roles, token });
    const standing = { ...read, holders };
    const decision = decideApproval(standing, { kind: act.kind, specHash: act.specHash, actor, roles, token });
    if (decision.kind === 'nothing') return { kind: 'nothing', id: row.id };
    if (decision.kind === 'refuse') {
      const { code, message } = decision;
      const about = { row, intent: read.intent, slug: read.cluster.slug };
      const says = `was not ${act.kind === 'approve' ? 'approved' : 'rejected'} by ${actor}`;
      await tellApproval(trx, about, 'refused', { at, actor, says, reason: `${code}: ${message}` });
      return { kind: 'refused', code, message: `approval ${row.id}: ${message}`, extra: { specHash: row.spec_hash } };
    }
    const review: ApprovalReviewRow = {
      id: newId('rev', now, deps.randomBytes),
      approval_id: row.id,
      kind: act.kind,
      actor,
      roles: JSON.stringify(roles),
      token_hash: token,
      at,
      comment: act.comment ?? null,
    };
    if (decision.isReview) await insertApprovalReviews(trx, [review]);
    if (decision.state === 'rejected') {
      const says = `rejected by ${actor}`;
      await endApproval(trx, standing, { state: 'rejected', at, actor, says, comment: act.comment });
      return { kind: 'changed', id: row.id };
    }
    const isEnough = decision.state === 'approved';
    // With what was said just now.
    const after = await approvalStanding(trx, row, now);
    await carryOutApproval(
      trx,
      { ...standing, reviews: after?.reviews ?? standing.reviews },
      { at: now, actor, comment: act.comment, isEnough, via: 'api' },
    );
    return { kind: isEnough ? 'approved' : 'changed', id: row.id };
  });
  if (outcome.kind === 'refused') {
    // Its intent may have ended, and it is withdrawn then.
    wakeups.notify(APPROVALS_TOPIC);
    throw new AppError(outcome.code, outcome.message, { extra: outcome.extra ?? {} });
  }
  if (outcome.kind === 'nothing') return;
  // Told before it is signed: whoever looks after approvals signs it, should this process end here.
  wakeups.notify(APPROVALS_TOPIC);
  wakeups.notify(DELIVERY_TOPIC);
  if (outcome.kind !== 'approved') return;
  // What was approved stays so: the loop signs it where it cannot be signed now, and says why.
  await signStatement(deps, outcome.id).catch(() => undefined);
}
