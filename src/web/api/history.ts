import type { ChangedFile } from '../yaml-diff/yaml-diff.tsx';

export interface Repository {
  readonly name: string;
  readonly url: string;
  readonly branch: string;
  readonly layout: string;
}

/** A commit, with the intent that led to it and what became of that. */
export interface Commit {
  readonly id: string;
  readonly subject: string;
  readonly body?: string;
  readonly at: string;
  readonly author: { readonly name: string };
  readonly trailers?: Readonly<Record<string, string>>;
  readonly clusterSlug?: string;
  readonly signature?: { readonly state: string; readonly principal?: string; readonly why?: string };
  readonly intent?: {
    readonly id: string;
    readonly state: string;
    readonly appliedAt?: string;
    readonly readyAt?: string;
  };
  readonly status?: readonly CommitCondition[];
  readonly jobs?: readonly { readonly id: string; readonly state: string; readonly outcome?: string }[];
  readonly files?: readonly ChangedFile[];
}

interface CommitCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}
