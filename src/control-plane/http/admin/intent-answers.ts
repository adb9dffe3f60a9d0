import { Type, type Static } from 'typebox';
import { INTENT_ACTIONS } from '../../../intent/intent-record.ts';
import { CONNECTIVITY_MODES } from '../../../protocol/connectivity-mode.ts';
import { RequiredApprovals } from '../../git/git-settings.ts';
import type { ApprovalState, IntentState as State, ProposalState as OfProposal } from '../../store/schema.ts';
import { answerOf, listOf, oneOf, pageOf, Time } from '../openapi/answers.ts';

export const IntentState = oneOf<State>([
  'accepted',
  'proposed',
  'delivered',
  'applied',
  'ready',
  'failed',
  'superseded',
  'removed',
]);
export const PROPOSAL_STATES = [
  'open',
  'merging',
  'merged',
  'rejected',
  'superseded',
  'failed',
] as const satisfies readonly OfProposal[];
export const APPROVAL_STATES = [
  'pending',
  'approved',
  'rejected',
  'expired',
  'withdrawn',
] as const satisfies readonly ApprovalState[];

/** Whose approval is still to come. */
export const MissingApprovals = Type.Object({
  count: Type.Integer(),
  roles: Type.Record(Type.String(), Type.Integer()),
});

/** What an intent shows of the approval that it needs. */
export const ApprovalSummaryAnswer = answerOf('ApprovalSummaryAnswer', {
  id: Type.String(),
  state: oneOf(APPROVAL_STATES),
  given: listOf(Type.String({ description: 'who approved, as it counts now' })),
  missing: MissingApprovals,
});
export type ApprovalSummary = Static<typeof ApprovalSummaryAnswer>;

/** An intent; nothing of its values. */
export const IntentAnswer = answerOf('IntentAnswer', {
  id: Type.String(),
  clusterId: Type.String(),
  action: oneOf(INTENT_ACTIONS),
  namespace: Type.String(),
  name: Type.String(),
  generation: Type.Integer(),
  state: IntentState,
  reason: Type.Optional(Type.String({ description: 'why it stands where it stands' })),
  proposal: Type.Optional(
    Type.Object({ id: Type.String(), state: oneOf(PROPOSAL_STATES), url: Type.Optional(Type.String()) }),
  ),
  approval: Type.Optional(ApprovalSummaryAnswer),
  receipt: Type.Optional(
    Type.Object({
      mode: oneOf(CONNECTIVITY_MODES),
      commit: Type.Optional(Type.String()),
      link: Type.Optional(Type.String({ description: 'where the API shows the commit' })),
      jobId: Type.Optional(Type.String()),
      fieldManager: Type.Optional(Type.String()),
    }),
  ),
  requestedBy: Type.String(),
  requestReason: Type.Optional(Type.String({ description: 'why it was asked for' })),
  acceptedAt: Time,
  deliveredAt: Type.Optional(Time),
  appliedAt: Type.Optional(Time),
  readyAt: Type.Optional(Time),
});
export type IntentView = Static<typeof IntentAnswer>;
export const IntentPageAnswer = pageOf(IntentAnswer);

const RequestWarnings = Type.Optional(
  listOf(answerOf('WarningAnswer', { path: Type.String(), message: Type.String() })),
);

export const AcceptedIntentAnswer = answerOf('AcceptedIntentAnswer', {
  id: Type.String(),
  generation: Type.Integer(),
  state: Type.Literal('accepted'),
  warnings: RequestWarnings,
});

/** What would become of an intent. */
export const DryRunAnswer = answerOf('DryRunAnswer', {
  dryRun: Type.Literal(true),
  /** All of them; none: it would be accepted. */
  violations: listOf(
    answerOf('ViolationAnswer', {
      at: oneOf(['api', 'cluster']),
      reason: Type.Optional(Type.String()),
      path: Type.String(),
      message: Type.String(),
      allowed: Type.Optional(Type.Unknown()),
    }),
  ),
  warnings: RequestWarnings,
  approval: Type.Optional(Type.Object({ required: RequiredApprovals, via: oneOf(['approval', 'proposal']) })),
  manifest: Type.Optional(Type.String({ description: 'what would be delivered, as YAML' })),
  diff: Type.Optional(
    Type.String({ description: 'what it changes of the manifest that stands, as a unified diff; empty: nothing' }),
  ),
});
