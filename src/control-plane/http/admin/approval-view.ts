import { Type, type Static } from 'typebox';
import { INTENT_ACTIONS, type IntentRecord } from '../../../intent/intent-record.ts';
import { renderIntent, tombstoneText } from '../../../intent/render.ts';
import { parseExactJson } from '../../../protocol/exact-json.ts';
import { countGiven } from '../../approvals/decide-approval.ts';
import { inputsIn } from '../../approvals/sign-statement.ts';
import type { StoredApproval } from '../../approvals/standing.ts';
import { RequiredApprovals } from '../../git/git-settings.ts';
import { answerOf, listOf, oneOf, Time } from '../openapi/answers.ts';
import { ifKnown } from './cluster-view.ts';
import { APPROVAL_STATES, MissingApprovals, type ApprovalSummary } from './intent-answers.ts';

/** An approval as the admin API shows it; never its statement. */
export const ApprovalAnswer = answerOf('ApprovalAnswer', {
  id: Type.String(),
  intentId: Type.String(),
  clusterId: Type.String(),
  clusterSlug: Type.String(),
  action: oneOf(INTENT_ACTIONS),
  kind: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  template: Type.Optional(Type.String({ description: 'of an operation' })),
  catalogEntry: Type.Optional(Type.String({ description: 'of an install or update' })),
  chartVersion: Type.Optional(Type.String()),
  specHash: Type.String({ description: 'what the approval is bound to' }),
  state: oneOf(APPROVAL_STATES),
  required: RequiredApprovals,
  given: listOf(Type.Object({ by: Type.String(), at: Time, comment: Type.Optional(Type.String()) })),
  missing: MissingApprovals,
  requestedBy: Type.String(),
  requestedAt: Time,
  requestReason: Type.Optional(Type.String({ description: 'why it was asked for' })),
  expiresAt: Type.String({ format: 'date-time', description: 'when the request falls' }),
  via: Type.Optional(oneOf(['api', 'proposal'])),
  proposalId: Type.Optional(Type.String()),
  decidedAt: Type.Optional(Time),
  statementExpiresAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'how long what was approved is good for' }),
  ),
  reason: Type.Optional(Type.String()),
  manifest: Type.Optional(
    Type.String({ description: 'what is delivered once it is approved, without the approval itself' }),
  ),
});
export type ApprovalView = Static<typeof ApprovalAnswer>;

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
