/** A change of layout that moved a cluster's directory. */
export interface PlaceMove {
  /** In the `Layout-Move-Id` trailer of its commit. */
  readonly id: string;
  /** With this commit the directory is at `to`; before it was at `from`. Undefined while the move is being made. */
  readonly commit: string | undefined;
  /** Its commit is not older (RFC 3339). */
  readonly notBefore?: string;
  readonly from: string;
  readonly to: string;
}

/** Where a cluster's directory is by what is on record. Never told from a tree: a place of one layout may be anything in another. */
export interface Places {
  readonly now: string;
  /** The newest first. */
  readonly moves: readonly PlaceMove[];
  /** Older moves are not on record: the history begins at the oldest one that is. */
  readonly isCut?: true;
}

/** A cluster's projection, and what it is made of. */
export interface ProjectionTarget {
  /** As the host knows it: `clusters/prod-eu`, or `acme/clusters/prod-eu`. */
  readonly name: string;
  /** Whose key signs. */
  readonly organizationId: string;
  /** The shared repository, as the host knows it. */
  readonly repository: string;
  readonly branch: string;
  /** Where a push writes that is followed: the place that its credential is for. */
  readonly directory: string;
  /** Asked after the branch was read, so that what is on record covers what was read. */
  readonly places: () => Promise<Places>;
}

/** A cluster's directory in one commit of an accepted push. */
export interface DirectoryChange {
  readonly commit: string;
  /** Tree ids; `undefined`: there is no such directory. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What an accepted push did to the shared branch, by cluster directory, each list oldest first. */
export interface AcceptedPush {
  readonly repository: string;
  readonly branch: string;
  readonly oldId: string | undefined;
  readonly newId: string;
  readonly changes: readonly { readonly target: ProjectionTarget; readonly changes: readonly DirectoryChange[] }[];
}
