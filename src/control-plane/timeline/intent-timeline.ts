import { Type, type Static } from 'typebox';
import { answerOf, oneOf, Time } from '../http/openapi/answers.ts';
import type { ApprovalRow, ClusterRow, IntentRow, JobRow, ProposalRow, ReceiptRow } from '../store/schema.ts';
import { WAITING } from '../store/waiting-reasons.ts';

export const TIMELINE_STEPS = [
  'requested',
  'approval',
  'rendered',
  'proposal',
  'committed',
  'queued',
  'applied-by-push',
  'delivered',
  'acknowledged',
  'applied',
  'ready',
  'removed',
  'failed',
  'superseded',
] as const;
export type TimelineStep = (typeof TIMELINE_STEPS)[number];

const TimelineRef = answerOf('TimelineRefAnswer', {
  kind: oneOf(['commit', 'proposal', 'job', 'approval', 'release', 'intent']),
  id: Type.String(),
  repository: Type.Optional(Type.String({ description: 'of a commit' })),
});

export const TimelineItem = answerOf('TimelineItemAnswer', {
  at: Type.Optional(Time),
  step: oneOf(TIMELINE_STEPS),
  state: oneOf(['done', 'current', 'pending', 'failed']),
  text: Type.String(),
  by: Type.Optional(Type.String()),
  ref: Type.Optional(TimelineRef),
});
export type TimelineItem = Static<typeof TimelineItem>;

/** All that the way of an intent is told from. */
export interface TimelineFacts {
  readonly intent: IntentRow;
  readonly cluster: Pick<ClusterRow, 'slug' | 'connectivity_mode' | 'delivery_held' | 'disconnected_at'>;
  readonly approval: ApprovalRow | undefined;
  readonly proposal: ProposalRow | undefined;
  /** Whether its cluster's changes are proposed before they are committed. */
  readonly isReviewed: boolean;
  readonly receipt: ReceiptRow | undefined;
  /** The job that brings it, or brought it last. */
  readonly job: JobRow | undefined;
  /** Name of the repository that its cluster is in. */
  readonly repository: string | undefined;
  /** The next one about the same object. */
  readonly newer: Pick<IntentRow, 'id' | 'generation' | 'accepted_at'> | undefined;
}

type Stage = Omit<TimelineItem, 'state'> & { readonly isDone: boolean; readonly isFailed?: boolean };

/**
 * The way of an intent from the request to what became of it, in its order: what is done, the one thing that it stands at,
 * and what is still to come. Where it has ended, nothing is to come.
 */
export function intentTimeline(facts: TimelineFacts): TimelineItem[] {
  const { intent } = facts;
  const end = endOf(facts);
  const stages = stagesOf(facts);
  const firstOpen = stages.findIndex(({ isDone }) => !isDone);
  const items = stages.flatMap(({ isDone, isFailed, ...stage }, index): TimelineItem[] => {
    if (isFailed === true) return [{ ...stage, state: 'failed' }];
    if (isDone) return [{ ...stage, state: 'done' }];
    if (end !== undefined) return [];
    const isCurrent = index === firstOpen;
    const text = isCurrent ? withWaiting(stage.text, facts) : stage.text;
    return [{ ...stage, text, state: isCurrent ? 'current' : 'pending' }];
  });
  return end === undefined || intent.state === 'ready' || intent.state === 'removed' ? items : [...items, end];
}

function stagesOf(facts: TimelineFacts): Stage[] {
  const { intent } = facts;
  const target = `${intent.namespace}/${intent.name}`;
  return [
    {
      step: 'requested',
      isDone: true,
      at: intent.accepted_at,
      by: intent.requested_by,
      text: `${intent.action} ${target}, generation ${intent.generation}`,
    },
    ...approvalStage(facts),
    ...deliveryStages(facts),
    ...clusterStages(facts),
  ];
}

function approvalStage({ approval }: TimelineFacts): Stage[] {
  if (approval === undefined) return [];
  const { id, state, approved_by: by, decided_at: at, reason } = approval;
  const stage = { step: 'approval', ref: { kind: 'approval', id } } as const;
  if (state === 'pending')
    return [{ ...stage, isDone: false, text: `waits for approval until ${approval.expires_at}` }];
  const decided = at === null ? {} : { at };
  if (state === 'approved') {
    return [{ ...stage, ...decided, isDone: true, text: 'approved', ...(by === null ? {} : { by }) }];
  }
  return [{ ...stage, ...decided, isDone: true, isFailed: true, text: reason ?? state }];
}

function deliveryStages(facts: TimelineFacts): Stage[] {
  const { intent, receipt, cluster, job, repository } = facts;
  const isDelivered = intent.delivered_at !== null || receipt !== undefined;
  const at = receipt?.at ?? intent.delivered_at ?? undefined;
  const delivered = { isDone: isDelivered, ...(at === undefined ? {} : { at }) };
  const isRendered = isDelivered || intent.render_inputs !== null || facts.proposal !== undefined;
  const rendered: Stage = { step: 'rendered', isDone: isRendered, text: 'made into what the cluster is given' };
  switch (receipt?.mode ?? cluster.connectivity_mode) {
    case 'gitops': {
      const commit = receipt?.commit_id ?? undefined;
      const where = repository === undefined ? 'its repository' : repository;
      return [
        rendered,
        ...proposalStage(facts),
        {
          step: 'committed',
          ...delivered,
          text: isDelivered ? `committed to ${where}` : `to be committed to ${where}`,
          ...(commit === undefined
            ? {}
            : { ref: { kind: 'commit', id: commit, ...(repository === undefined ? {} : { repository }) } }),
        },
      ];
    }
    case 'push':
      return [
        rendered,
        {
          step: 'applied-by-push',
          ...delivered,
          text: `${isDelivered ? 'written' : 'to be written'} to the API server of ${cluster.slug}`,
        },
      ];
    case 'pull':
      return [rendered, ...jobStages(job, isDelivered, at, cluster.slug)];
  }
}

function proposalStage({ proposal, intent, isReviewed, receipt }: TimelineFacts): Stage[] {
  if (proposal === undefined) {
    const isComing = isReviewed && receipt === undefined && intent.delivered_at === null;
    return isComing ? [{ step: 'proposal', isDone: false, text: 'to be proposed for review' }] : [];
  }
  const { id, state, closed_at: closedAt, close_reason: reason, created_at: at, author } = proposal;
  const stage = { step: 'proposal', at: closedAt ?? at, by: author, ref: { kind: 'proposal', id } } as const;
  if (state === 'open') return [{ ...stage, isDone: false, text: `waits for review: ${proposal.title}` }];
  if (state === 'merging') return [{ ...stage, isDone: false, text: reason ?? 'approved; being merged' }];
  if (state === 'merged') return [{ ...stage, isDone: true, text: 'approved and merged' }];
  return [{ ...stage, isDone: true, isFailed: true, text: reason ?? state }];
}

function jobStages(job: JobRow | undefined, isDelivered: boolean, at: string | undefined, slug: string): Stage[] {
  const ref = job === undefined ? {} : { ref: { kind: 'job', id: job.id } as const };
  const isClosed = job?.state === 'closed';
  const time = (known: string | null | undefined): { readonly at?: string } =>
    known === null || known === undefined ? {} : { at: known };
  return [
    { step: 'queued', isDone: isDelivered, ...time(at), text: `put into the queue of ${slug}`, ...ref },
    {
      step: 'delivered',
      isDone: job !== undefined && (job.delivered_at !== null || isClosed),
      ...time(job?.delivered_at),
      text: `fetched by the operator of ${slug}`,
      ...ref,
    },
    {
      step: 'acknowledged',
      isDone: job !== undefined && (job.acknowledged_at !== null || isClosed),
      ...time(job?.acknowledged_at),
      text: 'taken by the operator to be carried out',
      ...ref,
    },
  ];
}

/** What the cluster makes of it. */
function clusterStages({ intent, receipt, cluster }: TimelineFacts): Stage[] {
  const isEnd = intent.state === 'ready' || intent.state === 'removed';
  const isApplied = intent.applied_at !== null || isEnd;
  const applied: Stage = {
    step: 'applied',
    isDone: isApplied,
    ...(intent.applied_at === null ? {} : { at: intent.applied_at }),
    text: `${isApplied ? 'applied' : 'to be applied'} by the operator of ${cluster.slug}`,
  };
  const isPush = (receipt?.mode ?? cluster.connectivity_mode) === 'push';
  const isRelease = intent.action === 'install' || intent.action === 'update';
  const last: Stage =
    intent.action === 'uninstall'
      ? { step: 'removed', isDone: intent.state === 'removed', text: 'removed from the cluster' }
      : {
          step: 'ready',
          isDone: intent.state === 'ready' || intent.ready_at !== null,
          ...(intent.ready_at === null ? {} : { at: intent.ready_at }),
          text: intent.action === 'operate' ? 'the operation has succeeded' : 'ready',
          ...(isRelease ? { ref: { kind: 'release', id: `${intent.namespace}/${intent.name}` } as const } : {}),
        };
  return [...(isPush ? [] : [applied]), last];
}

/** Undefined: it is still on its way, or it has come to its good end. */
function endOf({ intent, newer }: TimelineFacts): TimelineItem | undefined {
  switch (intent.state) {
    case 'failed':
      return { step: 'failed', state: 'failed', text: intent.reason ?? 'failed' };
    case 'superseded': {
      const by = newer === undefined ? 'a newer intent' : `generation ${newer.generation}`;
      return {
        step: 'superseded',
        state: 'done',
        text: intent.reason ?? `${by} about the same object took its place`,
        ...(newer === undefined ? {} : { at: newer.accepted_at, ref: { kind: 'intent', id: newer.id } }),
      };
    }
    case 'ready':
    case 'removed':
      return { step: intent.state, state: 'done', text: intent.state };
    case 'accepted':
    case 'proposed':
    case 'delivered':
    case 'applied':
      return undefined;
  }
}

/** Why it stands where it stands, as far as that is known. */
function withWaiting(text: string, { intent, cluster }: TimelineFacts): string {
  const reasons: string[] = [];
  if (intent.reason !== null) reasons.push(intent.reason.replace(WAITING, ''));
  if (intent.state === 'accepted' && cluster.delivery_held === 1) {
    reasons.push(`a switch of mode holds up what is delivered to ${cluster.slug}`);
  }
  if (cluster.disconnected_at !== null) {
    reasons.push(`${cluster.slug} has not been heard of since ${cluster.disconnected_at}`);
  }
  return reasons.length === 0 ? text : `${text}: ${reasons.join('; ')}`;
}
