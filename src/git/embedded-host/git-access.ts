import type { DirectoryMove } from '../directory-moves.ts';
import type { ProjectionTarget } from '../projection/projection-target.ts';

/** One directory that a write credential may change, and the cluster whose commits may change it. */
export interface ScopeEntry {
  readonly clusterId: string;
  /** From the repository's root, without a slash at either end: `clusters/prod-eu`. */
  readonly directory: string;
}

/** What a Git credential may do in one repository. */
export type GitAccess =
  | {
      readonly access: 'read';
      /** The repository is a cluster's projection: it is brought up to date before it is read. */
      readonly projection?: ProjectionTarget;
    }
  | {
      readonly access: 'write';
      /** A push needs no reading where the writer reads in place. Absent: it may read the whole repository, too. */
      readonly pushesOnly?: true;
      readonly scope: readonly ScopeEntry[];
      /** Instead of writing in directories: one commit that moves exactly these and changes nothing. */
      readonly moves?: readonly DirectoryMove[];
      /** Of the clusters that the scope names, by their ids: what is pushed is added to these too. */
      readonly projections?: ReadonlyMap<string, ProjectionTarget>;
    };

/** `none`: the token is good, but for another repository; the host then answers 404, as if there were no such one. */
export type GitAuthorization = GitAccess | { readonly access: 'none' };
