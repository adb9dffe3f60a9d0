import type { ApprovalCount } from './intents.ts';

export const PROPOSAL_STATES = ['open', 'merging', 'merged', 'rejected', 'superseded', 'failed'] as const;

export interface Proposal {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly intentId: string;
  readonly repository: string;
  readonly hostNumber?: number;
  readonly hostUrl?: string;
  readonly branch: string;
  readonly title: string;
  readonly state: (typeof PROPOSAL_STATES)[number];
  readonly revision: number;
  readonly author: string;
  readonly baseCommit?: string;
  readonly mergedCommit?: string;
  readonly approvals: {
    readonly required: ApprovalCount;
    readonly given: readonly string[];
    readonly missing: ApprovalCount;
  };
  readonly reviews: readonly Review[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly closeReason?: string;
}

export interface Review {
  readonly id: string;
  readonly kind: 'approve' | 'reject' | 'comment';
  readonly actor: string;
  readonly roles: readonly string[];
  readonly comment?: string;
  readonly revision: number;
  readonly at: string;
  readonly droppedAt?: string;
}

export const APPROVAL_STATES = ['pending', 'approved', 'rejected', 'expired', 'withdrawn'] as const;

export interface Approval {
  readonly id: string;
  readonly intentId: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly action: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly template?: string;
  readonly catalogEntry?: string;
  readonly chartVersion?: string;
  readonly specHash: string;
  readonly state: (typeof APPROVAL_STATES)[number];
  readonly required: ApprovalCount;
  readonly given: readonly { readonly by: string; readonly at: string; readonly comment?: string }[];
  readonly missing: ApprovalCount;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly requestReason?: string;
  readonly expiresAt: string;
  readonly via?: 'api' | 'proposal';
  readonly proposalId?: string;
  readonly decidedAt?: string;
  readonly statementExpiresAt?: string;
  readonly reason?: string;
  readonly manifest?: string;
}

/** Who is still missing, in words; empty: nobody. */
export function missingText({ count, roles = {} }: ApprovalCount): string {
  const wanted = Object.entries(roles).filter(([, number]) => number > 0);
  const parts = [
    ...(count > 0 ? [`${count} more ${count === 1 ? 'approval' : 'approvals'}`] : []),
    ...wanted.map(([role, number]) => `${number} by somebody with the role ${role}`),
  ];
  return parts.join(', ');
}

/**
 * Why the reader's approval would not count, as far as the page can know; the control plane decides.
 *
 * @param me name and roles of the reader
 */
export function whyNotCounted(
  me: { readonly name: string; readonly roles: readonly string[] },
  requestedBy: string,
  given: readonly string[],
  missing: ApprovalCount,
): string | undefined {
  if (me.name === requestedBy) return 'You asked for this: somebody else has to approve it.';
  if (given.includes(me.name)) return 'You have approved this already.';
  const roles = Object.entries(missing.roles ?? {}).flatMap(([role, count]) => (count > 0 ? [role] : []));
  if (missing.count > 0 || roles.length === 0 || roles.some((role) => me.roles.includes(role))) return undefined;
  return `Only somebody with the role ${roles.join(' or ')} is still missing; yours: ${me.roles.join(', ') || 'none'}.`;
}
