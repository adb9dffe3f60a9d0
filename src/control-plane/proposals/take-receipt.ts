import type { Kysely } from 'kysely';
import type { BlobPin, Receipt } from '../../delivery/delivery.ts';
import { SUPERSEDED } from '../../delivery/refusal-reasons.ts';
import { gitSettingsOf } from '../git/git-settings.ts';
import { approveByMerge } from '../approvals/approve-by-merge.ts';
import { lockProposal, olderProposals, pinsIn, proposalsOfIntents, updateProposal } from '../store/proposals.ts';
import { storeHandoverReceipt } from '../store/mode-handovers.ts';
import { storeReceipt, type DeliveredIntent } from '../store/receipts.ts';
import type { ClusterRow, Database, IntentRow, ProposalRow } from '../store/schema.ts';
import { carryOut, type Cause } from './carry-out.ts';
import { decideReview, type ReviewEvent } from './decide-review.ts';
import { standingOf, type StoredStanding } from './standing.ts';
import { noteIntents, noteRows, OF_CHANGED_INTENT } from '../store/changes.ts';
import { tellProposal } from './tell-proposal.ts';

/** An intent with what its proposal is made of, and the way of its cluster that it was taken for. */
export type ReviewedIntent = DeliveredIntent &
  Pick<IntentRow, 'organization_id' | 'requested_by'> &
  Pick<ClusterRow, 'slug' | 'connectivity_mode' | 'repository_id'> & {
    /** The switch of mode that it was taken for; null or absent: for its first delivery. */
    readonly handover?: string | null;
  };

/** `past`: nothing was stored, since the cluster is reached in another way now. */
export type ReceiptTaken = 'stored' | 'config changed' | 'past';

type Proposed = Extract<Receipt, { readonly state: 'proposed' }>;

/**
 * Stores a receipt of an intent with what it means for its proposal and for older ones of the object. Storing one twice
 * changes nothing. What was taken before a fence was committed is not stored: the intent waits on and goes the new way.
 *
 * @returns `config changed`: the cluster's topic is to be notified after the commit
 */
export async function takeReceipt(
  trx: Kysely<Database>,
  intent: ReviewedIntent,
  receipt: Exclude<Receipt, { readonly state: 'retry' }>,
  now: Date,
): Promise<ReceiptTaken> {
  if (await isPast(trx, intent)) return 'past';
  return (await store(trx, intent, receipt, now)) ? 'config changed' : 'stored';
}

/** Read in the transaction of the receipt, which the fence of a switch comes before or after. */
async function isPast(trx: Kysely<Database>, intent: ReviewedIntent): Promise<boolean> {
  const now = await trx
    .selectFrom('clusters')
    .select(['delivery_epoch', 'connectivity_mode', 'repository_id'])
    .where('id', '=', intent.cluster_id)
    .executeTakeFirst();
  return (
    now?.delivery_epoch !== intent.delivery_epoch ||
    now.connectivity_mode !== intent.connectivity_mode ||
    (now.connectivity_mode === 'gitops' && now.repository_id !== intent.repository_id)
  );
}

async function store(
  trx: Kysely<Database>,
  intent: ReviewedIntent,
  receipt: Exclude<Receipt, { readonly state: 'retry' }>,
  now: Date,
): Promise<boolean> {
  const at = now.toISOString();
  const isFinal = receipt.state === 'delivered' || receipt.state === 'refused';
  if (isFinal && typeof intent.handover === 'string' && !(await isAccepted(trx, intent.id))) {
    return await storeHandoverReceipt(trx, intent, receipt, at);
  }
  const proposal = (await proposalsOfIntents(trx, [intent.id])).get(intent.id);
  switch (receipt.state) {
    case 'proposed':
      if (proposal === undefined) await openProposal(trx, intent, receipt, at);
      else await renderAgain(trx, intent, proposal, receipt, now);
      await overtake(trx, intent, false, now);
      return false;
    case 'moved':
      await happen(trx, proposal, { kind: 'moved' }, now, { news: 'ProposalMoved', detail: receipt.message });
      return false;
    case 'refused': {
      const isOlder = receipt.reason === SUPERSEDED;
      await happen(trx, proposal, { kind: 'refused', isOlder }, now, {
        news: isOlder ? 'ProposalSuperseded' : 'ProposalFailed',
        detail: `${receipt.reason}: ${receipt.message}`,
      });
      return await storeReceipt(trx, intent, receipt, at);
    }
    case 'delivered':
      await happen(trx, proposal, { kind: 'landed' }, now, {
        news: 'ProposalMerged',
        set: { merged_commit: receipt.commit ?? null },
      });
      await overtake(trx, intent, true, now);
      return await storeMerged(trx, intent, receipt, now);
  }
}

/** What was merged is approved by that. */
async function storeMerged(
  trx: Kysely<Database>,
  intent: ReviewedIntent,
  receipt: Extract<Receipt, { readonly state: 'delivered' }>,
  now: Date,
): Promise<boolean> {
  const isConfigChanged = await storeReceipt(trx, intent, receipt, now.toISOString());
  await approveByMerge(trx, intent.id, now);
  return isConfigChanged;
}

async function openProposal(
  trx: Kysely<Database>,
  intent: ReviewedIntent,
  receipt: Proposed,
  at: string,
): Promise<void> {
  const { organization_id, cluster_id, repository_id, id: intent_id, requested_by: author, slug } = intent;
  if (repository_id === null) throw new Error(`intent ${intent_id} is proposed in no repository`);
  const cluster = await trx
    .selectFrom('clusters')
    .select('git_settings')
    .where('id', '=', cluster_id)
    .executeTakeFirstOrThrow();
  const row = {
    // One proposal for each intent: however often it is stored, it is the same.
    id: `prop-${intent_id.replace(/^int-/, '')}`,
    organization_id,
    cluster_id,
    repository_id,
    intent_id,
    state: 'open' as const,
    title: receipt.title,
    branch: receipt.branch,
    author,
    pins: JSON.stringify(receipt.pins),
    revision: 1,
    base_commit: receipt.base ?? null,
    head_commit: receipt.head,
    merged_commit: null,
    host_number: null,
    host_url: null,
    host_revision: null,
    host_checked_at: null,
    host_closed_at: null,
    created_at: at,
    updated_at: at,
    closed_at: null,
    close_reason: null,
    branch_settled_at: null,
    required_approvals: JSON.stringify(gitSettingsOf(cluster).requiredApprovals),
  };
  await trx.insertInto('proposals').values(row).execute();
  noteRows(trx, 'proposals', [row]);
  await tellProposal(trx, row, 'ProposalOpened', { slug, at, once: '1' });
  if (await setProposed(trx, intent)) return;
  const detail = 'its intent was overtaken meanwhile';
  await happen(trx, row, { kind: 'overtaken', isDelivered: true }, new Date(at), {
    news: 'ProposalSuperseded',
    detail,
  });
}

/** On its branch is a commit again: of the next revision, or the same change on a newer base. */
async function renderAgain(
  trx: Kysely<Database>,
  intent: ReviewedIntent,
  proposal: ProposalRow,
  receipt: Proposed,
  now: Date,
): Promise<void> {
  const isOther = !samePins(pinsIn(proposal), receipt.pins);
  const set = {
    title: receipt.title,
    pins: JSON.stringify(receipt.pins),
    base_commit: receipt.base ?? null,
    head_commit: receipt.head,
  };
  const isOpen = await happen(trx, proposal, { kind: 'rendered', isOther }, now, { set });
  if (isOpen) await setProposed(trx, intent);
  // Closed meanwhile: its branch is here again, and has to go.
  else await updateProposal(trx, proposal.id, { head_commit: receipt.head, branch_settled_at: null });
}

/** What was taken to be handed over may wait for its own delivery by now: then it is this. */
async function isAccepted(trx: Kysely<Database>, intentId: string): Promise<boolean> {
  const intent = await trx.selectFrom('intents').select('state').where('id', '=', intentId).executeTakeFirst();
  return intent?.state === 'accepted';
}

/** @returns whether the intent was still waiting for it */
async function setProposed(
  trx: Kysely<Database>,
  { id, render_inputs: inputs }: Pick<ReviewedIntent, 'id' | 'render_inputs'>,
): Promise<boolean> {
  const proposed = await trx
    .updateTable('intents')
    .set({ state: 'proposed', reason: null })
    // Whoever merges it on a Git host merges what was made of these.
    .$if(typeof inputs === 'string', (query) => query.set({ render_inputs: inputs ?? null }))
    .where('id', '=', id)
    .where('state', '=', 'accepted')
    .returning(OF_CHANGED_INTENT)
    .execute();
  noteIntents(trx, proposed);
  return proposed.length > 0;
}

/** Older proposals of the object give way. */
async function overtake(trx: Kysely<Database>, intent: ReviewedIntent, isDelivered: boolean, now: Date): Promise<void> {
  for (const older of await olderProposals(trx, intent)) {
    await happen(trx, older, { kind: 'overtaken', isDelivered }, now, {
      news: 'ProposalSuperseded',
      detail: `a newer intent of the object, ${intent.id} (generation ${intent.generation})`,
    });
  }
}

/**
 * Counts once more, at the last moment before what was `seen` is merged; one that is not approved any more waits again.
 *
 * @returns the proposal as it stands, or undefined when what was seen is not to be merged: it was taken back or is another
 *   one since, whoever did that
 */
export async function stillApproved(
  trx: Kysely<Database>,
  seen: Pick<ProposalRow, 'id' | 'revision' | 'pins' | 'head_commit'>,
  now: Date,
): Promise<StoredStanding | undefined> {
  const row = await lockProposal(trx, seen.id);
  if (row?.state !== 'merging') return undefined;
  const standing = await standingOf(trx, row, now);
  const decision = decideReview(standing, { kind: 'recheck' });
  if (decision.kind === 'change') {
    await carryOut(trx, standing, decision, { at: now.toISOString(), news: 'ProposalNotApproved' });
    return undefined;
  }
  const isSame = row.revision === seen.revision && row.pins === seen.pins && row.head_commit === seen.head_commit;
  return isSame ? standing : undefined;
}

/** @returns whether the proposal changed */
export async function happen(
  trx: Kysely<Database>,
  proposal: Pick<ProposalRow, 'id'> | undefined,
  event: ReviewEvent,
  now: Date,
  cause: Omit<Cause, 'at'>,
): Promise<boolean> {
  const row = proposal === undefined ? undefined : await lockProposal(trx, proposal.id);
  if (row === undefined) return false;
  const standing = await standingOf(trx, row, now);
  const decision = decideReview(standing, event);
  if (decision.kind !== 'change') return false;
  await carryOut(trx, standing, decision, { at: now.toISOString(), ...cause });
  return true;
}

function samePins(before: readonly BlobPin[], after: readonly BlobPin[]): boolean {
  const text = (pins: readonly BlobPin[]): string =>
    JSON.stringify(pins.map((pin) => `${pin.path} ${pin.before} ${pin.after}`).sort((a, b) => (a < b ? -1 : 1)));
  return text(before) === text(after);
}
