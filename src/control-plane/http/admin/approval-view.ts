import type { IntentRecord } from '../../../intent/intent-record.ts';
import { renderIntent, tombstoneText } from '../../../intent/render.ts';
import { parseExactJson } from '../../../protocol/exact-json.ts';
import { countGiven } from '../../approvals/decide-approval.ts';
import { inputsIn } from '../../approvals/sign-statement.ts';
import type { StoredApproval } from '../../approvals/standing.ts';
import type { RequiredApprovals } from '../../git/git-settings.ts';
import type { ApprovalState, IntentRow } from '../../store/schema.ts';
import { ifKnown } from './cluster-view.ts';

/** What an intent shows of the approval that it needs. */
export interface ApprovalSummary {
  readonly id: string;
  readonly state: ApprovalState;
  /** Who approved, as it counts now. */
  readonly given: readonly string[];
  readonly missing: { readonly count: number; readonly roles: Readonly<Record<string, number>> };
}

/** An approval as the admin API shows it; never its statement. */
export interface ApprovalView extends Omit<ApprovalSummary, 'given'> {
  readonly intentId: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly action: IntentRow['action'];
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of an operation. */
  readonly template?: string;
  /** Of an install or update. */
  readonly catalogEntry?: string;
  readonly chartVersion?: string;
  /** What the approval is bound to. */
  readonly specHash: string;
  readonly required: RequiredApprovals;
  readonly given: readonly { readonly by: string; readonly at: string; readonly comment?: string }[];
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** Why it was asked for. */
  readonly requestReason?: string;
  /** When the request falls. */
  readonly expiresAt: string;
  readonly via?: 'api' | 'proposal';
  readonly proposalId?: string;
  readonly decidedAt?: string;
  /** How long what was approved is good for. */
  readonly statementExpiresAt?: string;
  readonly reason?: string;
  /** What is delivered once it is approved, without the approval itself. */
  readonly manifest?: string;
}

export function summaryOf(standing: StoredApproval): ApprovalSummary {
  const { row } = standing;
  const { given, missing } = countGiven(standing);
  return { id: row.id, state: row.state, given, missing };
}

/** @param hasManifest whether what is delivered is shown with it */
export function viewApproval(standing: StoredApproval, hasManifest: boolean): ApprovalView {
  const { row, intent, cluster, required, reviewRows } = standing;
  const { given, missing } = countGiven(standing);
  const record = parseExactJson(intent.record) as IntentRecord;
  // Of each the last one that counts: by the token that the person has now.
  const counting = new Map(
    reviewRows.flatMap((review) => {
      const { kind, actor, token_hash: token } = review;
      const counts = kind === 'approve' && given.includes(actor) && standing.holders.get(actor)?.token === token;
      return counts ? [[actor, review] as const] : [];
    }),
  );
  const manifest = hasManifest ? manifestOf(standing, record) : undefined;
  return {
    id: row.id,
    intentId: intent.id,
    clusterId: row.cluster_id,
    clusterSlug: cluster.slug,
    action: intent.action,
    kind: intent.target_kind,
    namespace: intent.namespace,
    name: intent.name,
    ...ifKnown('template', record.operationTemplate ?? null),
    ...ifKnown('catalogEntry', record.catalogEntry ?? null),
    ...ifKnown('chartVersion', record.chartVersion ?? null),
    specHash: row.spec_hash,
    state: row.state,
    required,
    given: [...counting.values()].map(({ actor, at, comment }) => ({ by: actor, at, ...ifKnown('comment', comment) })),
    missing,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at,
    ...ifKnown('requestReason', record.reason ?? null),
    expiresAt: row.expires_at,
    ...ifKnown('via', row.via),
    // Before it is decided, the one that is to be approved in its place.
    ...ifKnown('proposalId', row.proposal_id ?? standing.proposal?.id ?? null),
    ...ifKnown('decidedAt', row.decided_at),
    ...ifKnown('statementExpiresAt', row.statement_expires_at),
    ...ifKnown('reason', row.reason),
    ...(manifest === undefined ? {} : { manifest }),
  };
}

/** Undefined while it is not rendered: a proposal shows what it changes by its own diff. */
function manifestOf({ intent, cluster }: StoredApproval, record: IntentRecord): string | undefined {
  if (intent.render_inputs === null) return undefined;
  const { approval: _approval, ...inputs } = inputsIn(intent);
  const target = { clusterId: cluster.id, slug: cluster.slug, deliveryEpoch: cluster.delivery_epoch };
  try {
    const rendered = renderIntent(record, target, { ...inputs, approval: { required: true } });
    return rendered.kind === 'delete' ? tombstoneText(rendered.tombstone) : rendered.text;
  } catch {
    return undefined;
  }
}
