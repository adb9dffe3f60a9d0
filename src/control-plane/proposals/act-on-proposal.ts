import { AppError, type ErrorCode } from '../../protocol/app-error.ts';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import { appendAudit } from '../store/audit.ts';
import type { Store } from '../store/open-store.ts';
import { findProposalOf, lockProposal } from '../store/proposals.ts';
import { DELIVERY_TOPIC, PROPOSALS_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { carryOut } from './carry-out.ts';
import { decideReview, type ReviewAct } from './decide-review.ts';
import { standingOf } from './standing.ts';
import { tellProposal, type ProposalNews } from './tell-proposal.ts';

export interface ActDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
}

const NEWS: Readonly<Record<ReviewAct['kind'], ProposalNews>> = {
  approve: 'ProposalApproved',
  reject: 'ProposalRejected',
  comment: 'ProposalCommented',
  merge: 'ProposalMerging',
  supersede: 'ProposalSuperseded',
};

/** Acts that would decide about what is proposed: a refused one is in the audit log too. */
const DECIDES: Readonly<Partial<Record<ReviewAct['kind'], string>>> = {
  approve: 'approved',
  reject: 'rejected',
  merge: 'merged',
};

type Outcome =
  | { readonly kind: 'nothing' | 'changed' }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string; readonly revision: number };

/**
 * One act of a person on a proposal, in one durable write with its audit entry and its message. The same act again
 * changes nothing. A refused one that would have decided about it is written to the audit log before it is answered.
 *
 * @throws AppError `not_found`, `forbidden` (the author approves), `cluster_disabled`, or `conflict`: another revision was
 *   looked at, approvals are missing, it is closed or being merged
 */
export async function actOnProposal(
  deps: ActDeps,
  admin: AdminIdentity,
  id: string,
  act: {
    readonly kind: ReviewAct['kind'];
    readonly comment?: string | undefined;
    readonly revision?: number | undefined;
  },
): Promise<void> {
  const { store, wakeups, clock, randomBytes } = deps;
  const outcome = await store.write(async (trx): Promise<Outcome> => {
    const found = await findProposalOf(trx, admin.organization.id, id);
    const row = found === undefined ? undefined : await lockProposal(trx, id);
    if (row === undefined) throw new AppError('not_found', `there is no proposal ${id}`);
    const now = clock.now();
    const at = now.toISOString();
    const standing = await standingOf(trx, row, now);
    const who = { actor: admin.name, roles: admin.roles, token: admin.tokenHash };
    // The approver came in with a token just now.
    const holders = new Map(standing.holders);
    if (!holders.has(admin.name)) holders.set(admin.name, who);
    const decision = decideReview({ ...standing, holders }, { ...who, kind: act.kind, revision: act.revision });
    if (decision.kind === 'nothing') return { kind: 'nothing' };
    if (decision.kind === 'refuse') {
      const { code, message } = decision;
      const decided = DECIDES[act.kind];
      if (decided !== undefined) {
        await appendAudit(trx, {
          organizationId: row.organization_id,
          at,
          source: 'user',
          kind: 'ApprovalRefused',
          clusterId: row.cluster_id,
          actor: admin.name,
          summary: `${standing.cluster.slug}: proposal ${id} (${row.title}) was not ${decided} by ${admin.name}`,
          intentId: row.intent_id,
          reason: `${code}: ${message}`,
        });
      }
      return { kind: 'refused', code, message: `proposal ${id}: ${message}`, revision: row.revision };
    }
    const { comment } = act;
    const withdrawn = act.kind === 'supersede' ? `withdrawn by ${admin.name}` : `rejected by ${admin.name}`;
    const closes = act.kind === 'supersede' || act.kind === 'reject';
    await carryOut(trx, standing, decision, {
      at,
      news: NEWS[act.kind],
      actor: admin.name,
      ...(closes
        ? { detail: comment === undefined ? withdrawn : `${withdrawn}: ${comment}` }
        : comment === undefined
          ? {}
          : { detail: comment }),
      review: {
        id: newId('rev', now, randomBytes),
        roles: JSON.stringify(admin.roles),
        token_hash: admin.tokenHash,
        comment: comment ?? null,
      },
    });
    if (act.kind === 'approve' && decision.state === 'merging') {
      const about = { slug: standing.cluster.slug, at, once: `${row.revision}/${at}` };
      await tellProposal(trx, row, 'ProposalMerging', about);
    }
    return { kind: 'changed' };
  });
  if (outcome.kind === 'refused') {
    throw new AppError(outcome.code, outcome.message, { extra: { revision: outcome.revision } });
  }
  if (outcome.kind === 'nothing') return;
  wakeups.notify(DELIVERY_TOPIC);
  wakeups.notify(PROPOSALS_TOPIC);
}
