/** A change that waits for a review, as `GET /proposals/{id}` shows it. */
export interface Proposal {
  readonly id: string;
  readonly title: string;
  readonly state: 'open' | 'merging' | 'merged' | 'rejected' | 'superseded' | 'failed';
  readonly clusterSlug: string;
  readonly repository: string;
  readonly author: string;
  readonly revision: number;
  readonly intentId: string;
  readonly branch: string;
  readonly baseCommit?: string;
  readonly mergedCommit?: string;
  readonly closeReason?: string;
  readonly hostUrl?: string;
  readonly hostNumber?: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly approvals: {
    readonly given: readonly string[];
    readonly required: { readonly count: number };
    readonly missing: { readonly count: number; readonly roles?: Readonly<Record<string, number>> };
  };
  readonly reviews: readonly Review[];
}

export interface Review {
  readonly actor: string;
  readonly kind: string;
  readonly at: string;
  readonly roles: readonly string[];
  readonly revision: number;
  readonly comment?: string;
  readonly droppedAt?: string;
}
