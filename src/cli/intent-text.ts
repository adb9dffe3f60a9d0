import { toneOf, type Paint } from './colours.ts';
import { factsText, type Column, type Fact } from './output.ts';
import { timelineText, type TimelineItem } from './timeline-text.ts';

export const INTENT_STATES = [
  'accepted',
  'proposed',
  'delivered',
  'applied',
  'ready',
  'failed',
  'superseded',
  'removed',
] as const;
export const INTENT_ACTIONS = ['install', 'update', 'uninstall', 'operate'] as const;

/** An intent of the admin API's list. */
export interface ListedIntent {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug?: string;
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly state: string;
  readonly reason?: string;
  readonly proposal?: { readonly id: string; readonly state: string; readonly url?: string };
  readonly approval?: { readonly id: string; readonly state: string; readonly given: readonly string[] };
  readonly receipt?: {
    readonly mode: string;
    readonly commit?: string;
    readonly jobId?: string;
    readonly fieldManager?: string;
  };
  readonly requestedBy: string;
  readonly requestReason?: string;
  readonly acceptedAt: string;
  readonly deliveredAt?: string;
  readonly appliedAt?: string;
  readonly readyAt?: string;
}

/** One with its way. */
export interface ShownIntent extends ListedIntent {
  readonly timeline: readonly TimelineItem[];
}

export const INTENT_COLUMNS: readonly Column<ListedIntent>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'CLUSTER', value: ({ clusterSlug, clusterId }) => clusterSlug ?? clusterId },
  { header: 'ACTION', value: ({ action }) => action },
  { header: 'NAME', value: ({ namespace, name }) => `${namespace}/${name}` },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'BY', value: ({ requestedBy }) => requestedBy },
  { header: 'AT', value: ({ acceptedAt }) => acceptedAt },
  { header: 'GENERATION', value: ({ generation }) => generation, isWide: true },
  { header: 'DELIVERED', value: ({ deliveredAt }) => deliveredAt, isWide: true },
  { header: 'READY', value: ({ readyAt }) => readyAt, isWide: true },
  {
    header: 'BROUGHT BY',
    value: ({ receipt }) => receipt?.commit ?? receipt?.jobId ?? receipt?.fieldManager,
    isWide: true,
  },
  { header: 'BECAUSE', value: ({ reason }) => reason, isWide: true },
];

export function intentText(intent: ShownIntent, { paint }: { readonly paint?: Paint } = {}): string {
  const { proposal, approval, receipt, reason, state } = intent;
  const facts: readonly Fact[] = [
    ['intent', intent.id],
    ['asks for', `${intent.action} ${intent.namespace}/${intent.name}, generation ${intent.generation}`],
    ['cluster', intent.clusterSlug ?? intent.clusterId],
    ['state', reason === undefined ? state : `${state}: ${reason}`, toneOf(state)],
    ['asked by', `${intent.requestedBy} at ${intent.acceptedAt}`],
    ['because', intent.requestReason],
    ['approval', approval === undefined ? undefined : `${approval.id}: ${approval.state}`],
    ['proposal', proposal === undefined ? undefined : `${proposal.id}: ${proposal.state}`],
    ['review', proposal?.url],
    ['commit', receipt?.commit],
    ['job', receipt?.jobId],
    ['written as', receipt?.fieldManager],
  ];
  return `${factsText(facts, paint)}\n${timelineText({ items: intent.timeline }, paint)}`;
}
