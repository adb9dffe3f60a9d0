import type { Kysely } from 'kysely';
import { missingText } from '../proposals/count-approvals.ts';
import { updateApproval } from '../store/approvals.ts';
import type { ApprovalRow, Database, IntentRow, IntentState } from '../store/schema.ts';
import { countGiven } from './decide-approval.ts';
import { needsStatement, STATEMENT_LIFETIME_MS, waitingReason } from './request-approval.ts';
import type { StoredApproval } from './standing.ts';
import { noteIntents, OF_CHANGED_INTENT } from '../store/changes.ts';
import { tellApproval } from './tell-approval.ts';

/** Reasons of intents that ended with their approval; they stand before the words. */
export const APPROVAL_REJECTED = 'ApprovalRejected';
export const APPROVAL_EXPIRED = 'ApprovalExpired';

/** Most that a statement says of who approved. */
const MAX_APPROVED_BY = 1024;
/** Intents that have not come to their cluster, as far as it has told. */
const UNDER_WAY: readonly IntentState[] = ['accepted', 'proposed', 'delivered', 'applied'];

/**
 * Somebody approved: one more, or the last that was missing. Then the statement is to be signed, which takes more than the
 * database, and until then the intent waits on. It is bound and dated here already, so that signing it twice after a crash
 * gives the same text.
 */
export async function carryOutApproval(
  trx: Kysely<Database>,
  standing: StoredApproval,
  cause: {
    readonly at: Date;
    readonly actor: string;
    readonly says?: string;
    readonly comment?: string | undefined;
    readonly isEnough: boolean;
    readonly via: NonNullable<ApprovalRow['via']>;
    readonly proposalId?: string;
  },
): Promise<void> {
  const { row, intent, cluster } = standing;
  const counted = countGiven(standing);
  const { given } = counted;
  const at = cause.at.toISOString();
  const lacks = missingText(counted);
  const missing = lacks === '' ? '' : `, and lacks ${lacks}`;
  await tellApproval(trx, { row, intent, slug: cluster.slug }, 'approved', {
    at,
    actor: cause.actor,
    says: `${cause.says ?? `was approved by ${cause.actor}`}${cause.isEnough ? '' : missing}`,
    reason: cause.comment,
  });
  if (!cause.isEnough) {
    await setWaiting(trx, intent, waitingReason(row.id, counted));
    return;
  }
  await updateApproval(trx, row.id, {
    state: 'approved',
    via: cause.via,
    spec_hash: row.spec_hash,
    ...(cause.proposalId === undefined ? {} : { proposal_id: cause.proposalId }),
    approved_by: namesText(given),
    jti: row.id,
    statement_expires_at: new Date(cause.at.getTime() + STATEMENT_LIFETIME_MS).toISOString(),
    decided_at: at,
  });
  if (needsStatement(intent)) await setWaiting(trx, intent, waitingReason(row.id, counted));
  else await release(trx, intent.id);
}

/** It is delivered now. */
export async function release(trx: Kysely<Database>, intentId: string): Promise<void> {
  const released = await trx
    .updateTable('intents')
    .set({ awaits_approval: null, reason: null })
    .where('id', '=', intentId)
    .where('awaits_approval', '=', 1)
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, released);
}

/** Ends an approval that nobody gave, and its intent with it. */
export async function endApproval(
  trx: Kysely<Database>,
  { row, intent, cluster }: Pick<StoredApproval, 'row' | 'intent' | 'cluster'>,
  end: {
    readonly state: 'rejected' | 'expired';
    readonly at: string;
    readonly actor?: string;
    readonly says: string;
    readonly comment?: string | undefined;
  },
): Promise<void> {
  const { state, at, actor, says, comment } = end;
  const why = comment === undefined ? says : `${says}: ${comment}`;
  await updateApproval(trx, row.id, { state, decided_at: at, reason: why });
  const reason = state === 'rejected' ? APPROVAL_REJECTED : APPROVAL_EXPIRED;
  await failIntent(trx, intent.id, `${reason}: ${why}`);
  await tellApproval(trx, { row, intent, slug: cluster.slug }, state, {
    at,
    ...(actor === undefined ? {} : { actor }),
    says: `was ${says}`,
    reason: comment,
  });
}

/** What was approved did not come to its cluster while it was good. Told once: with its intent, which ends by it. */
export async function endLate(
  trx: Kysely<Database>,
  row: ApprovalRow,
  intent: IntentRow & { readonly slug: string },
  now: Date,
): Promise<void> {
  const says = `was good until ${row.statement_expires_at ?? '?'}, and its cluster had not taken it by then`;
  const isEnded = await failIntent(trx, intent.id, `${APPROVAL_EXPIRED}: approval ${row.id} ${says}; ask for it anew`);
  if (isEnded) await tellApproval(trx, { row, intent, slug: intent.slug }, 'expired', { at: now.toISOString(), says });
}

/** @returns whether it had not ended before */
export async function failIntent(trx: Kysely<Database>, intentId: string, reason: string): Promise<boolean> {
  const failed = await trx
    .updateTable('intents')
    .set({ state: 'failed', reason, awaits_approval: null })
    .where('id', '=', intentId)
    .where('state', 'in', UNDER_WAY)
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, failed);
  return failed.length > 0;
}

async function setWaiting(trx: Kysely<Database>, intent: Pick<IntentRow, 'id'>, reason: string): Promise<void> {
  const waiting = await trx
    .updateTable('intents')
    .set({ reason })
    .where('id', '=', intent.id)
    .where('awaits_approval', '=', 1)
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, waiting);
}

/** Whole names, as many as fit. */
function namesText(names: readonly string[]): string {
  let text = '';
  for (const name of names) {
    const longer = text === '' ? name : `${text}, ${name}`;
    if (longer.length > MAX_APPROVED_BY) break;
    text = longer;
  }
  return text;
}
