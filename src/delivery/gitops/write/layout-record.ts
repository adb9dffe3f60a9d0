import type { RepositoryLayout } from '../layout.ts';

/** A move that was asked for and is not at its end. */
export interface LayoutMove {
  readonly id: string;
  readonly to: RepositoryLayout;
  readonly requestedBy: string;
  /** RFC 3339. */
  readonly requestedAt: string;
}

/** A move that is at its end. */
export interface LayoutMoved {
  readonly id: string;
  /** With this commit, and everywhere on it, the layout is `to`; before it was `from`. */
  readonly commit: string;
  readonly from: RepositoryLayout;
  readonly to: RepositoryLayout;
}

/** What is on record of a repository's layout, shared by all processes that write to it. */
export interface LayoutRecord {
  /** What holds now. With `move`: the branch may be in either layout, and the move is to be finished first. */
  current(): Promise<{ readonly layout: RepositoryLayout; readonly move?: LayoutMove }>;
  /** Of every cluster whose directory may be in the repository, deleted ones included: their directories stay. */
  slugs(): Promise<readonly string[]>;
  /**
   * The branch has the new layout: the clusters read there from now on. Doing it twice changes nothing.
   *
   * @param done.commit the commit of the move, or the tip where no directory had to be moved
   */
  finish(move: LayoutMove, done: { readonly commit?: string; readonly directories?: number }): Promise<void>;
  /** Something is in the way; nothing was changed. */
  giveUp(move: LayoutMove, why: string): Promise<void>;
}
