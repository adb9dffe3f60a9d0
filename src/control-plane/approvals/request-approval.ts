import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import type { RenderInputs } from '../../intent/render.ts';
import type { Rendered } from '../../intent/rendered.ts';
import { approvedSpecHash } from '../../protocol/approval-statement.ts';
import type { RequiredApprovals } from '../git/git-settings.ts';
import { insertApproval } from '../store/approvals.ts';
import type { ApprovalRow, ClusterRow, Database, IntentRow } from '../store/schema.ts';
import { WAITING } from '../store/waiting-reasons.ts';
import { missingText } from '../proposals/count-approvals.ts';
import { requirementsOf } from './requirements.ts';
import { isReviewedInGit } from './standing.ts';

/** So long somebody may approve what was asked for; then it is to be asked for anew, since much may have changed. */
export const REQUEST_LIFETIME_MS = 7 * 24 * 3600 * 1000;
/** So long what was approved may take to reach its cluster and begin there. */
export const STATEMENT_LIFETIME_MS = 24 * 3600 * 1000;
/** The most that an approval adds to a manifest: its claims, in base64, with header and signature. */
export const APPROVAL_BYTES = 3500;

/** What is bound by an approval: the spec as it is delivered, or which object is to go. */
export function specHashOf(rendered: Rendered): string {
  if (rendered.kind === 'apply') return approvedSpecHash(rendered.object['spec'] as Record<string, unknown>);
  return approvedSpecHash({ uninstall: `${rendered.tombstone.namespace}/${rendered.tombstone.name}` });
}

/** One for each intent: however often it is asked for, it is the same. */
export function approvalIdOf(intentId: string): string {
  return `apr-${intentId.replace(/^int-/, '')}`;
}

/** Stores that an intent needs an approval, in the transaction that stores the intent or finds that it needs one by now. */
export async function requestApproval(
  trx: Kysely<Database>,
  intent: Pick<IntentRow, 'id' | 'organization_id' | 'cluster_id' | 'requested_by'>,
  request: {
    readonly required: RequiredApprovals;
    readonly specHash: string;
    /** Hash of the token that asked, where it is known. */
    readonly requestedWith?: string | undefined;
    readonly now: Date;
  },
): Promise<ApprovalRow> {
  const { required, specHash, requestedWith, now } = request;
  const row: ApprovalRow = {
    id: approvalIdOf(intent.id),
    organization_id: intent.organization_id,
    cluster_id: intent.cluster_id,
    intent_id: intent.id,
    state: 'pending',
    required: JSON.stringify(required),
    spec_hash: specHash,
    requested_by: intent.requested_by,
    requested_with: requestedWith ?? null,
    requested_at: now.toISOString(),
    expires_at: new Date(now.getTime() + REQUEST_LIFETIME_MS).toISOString(),
    via: null,
    proposal_id: null,
    approved_by: null,
    statement: null,
    statement_kid: null,
    jti: null,
    statement_expires_at: null,
    decided_at: null,
    reason: null,
  };
  await insertApproval(trx, row);
  return row;
}

/** What an intent says while it waits for it. */
export function waitingReason(approvalId: string, missing: Parameters<typeof missingText>[0]): string {
  const lacks = missingText(missing);
  return `${WAITING}approval ${approvalId} ${lacks === '' ? 'is being signed' : `lacks ${lacks}`}`;
}

/** What is missing of what nobody has approved yet. */
export function allMissing({ count, roles = {} }: RequiredApprovals): Parameters<typeof missingText>[0] {
  return { missing: { count, roles } };
}

/** What an uninstall is approved by is not carried to the cluster: nothing there looks at it. */
export function needsStatement({ action }: Pick<IntentRecord, 'action'>): boolean {
  return action !== 'uninstall';
}

/** What an intent that is being accepted needs, and whether it waits for it here or is approved with its proposal. */
export async function approvalNeeded(
  trx: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id' | 'organization_id' | 'connectivity_mode' | 'git_settings'>,
  record: IntentRecord,
): Promise<
  | {
      readonly required: RequiredApprovals;
      readonly inputs: Pick<RenderInputs, 'approval'>;
      readonly held: Partial<Pick<IntentRow, 'awaits_approval' | 'reason'>>;
    }
  | undefined
> {
  const [required] = await requirementsOf(trx, [
    { organizationId: cluster.organization_id, clusterId: cluster.id, record },
  ]);
  if (required === undefined) return undefined;
  const reason = waitingReason(approvalIdOf(record.id), allMissing(required));
  return {
    required,
    inputs: { approval: { required: true } },
    held: isReviewedInGit(cluster) ? {} : { awaits_approval: 1, reason },
  };
}
