/** A cluster's projection, and what it is made of. */
export interface ProjectionTarget {
  /** As the host knows it: `clusters/prod-eu`, or `acme/clusters/prod-eu`. */
  readonly name: string;
  /** Whose key signs. */
  readonly organizationId: string;
  /** The shared repository, as the host knows it. */
  readonly repository: string;
  readonly branch: string;
  /** Where the cluster's directory may stand in it, the present place first: a layout may have been changed. */
  readonly directories: readonly string[];
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
