import type { GitCredential } from './git-credential.ts';
import type { NewObject } from './git-object.ts';
import type { Rejected } from './rejection.ts';
import type { TreeStore } from './tree-edit.ts';

export type Fetched = { readonly state: 'ok'; readonly tip: string | undefined } | Rejected;

/** Objects of one branch, near enough to be read. Implementations: a mirror of another host, a repository in place. */
export interface BranchCopy extends TreeStore, AsyncDisposable {
  /** @throws {MissingObjectError} like `readTree` and `readTreeOfCommit` */
  readBlob(id: string): Promise<Buffer>;
  readTreeOfCommit(id: string): Promise<string>;
  /** Remembers what was just pushed, so that it need not be fetched. */
  keep(objects: readonly NewObject[], tip: string): void;
  /** Brings the copy up to date, rewritten history included. `tip` is undefined when the host has no such branch. */
  fetch(credential: GitCredential, signal: AbortSignal): Promise<Fetched>;
  /** Where another branch of the host is, its commits in sight. `tip` is undefined when there is none. */
  fetchBranch(branch: string, credential: GitCredential, signal: AbortSignal): Promise<Fetched>;
  /** Tip of the branch, as far as the copy knows. */
  tip(): Promise<string | undefined>;
  /** Runs a reading git command, with everything that was kept in its sight. */
  query(args: readonly string[], signal: AbortSignal, input?: string): Promise<string>;
  /** The history was rewritten: what only the old one had may go with the next maintenance. */
  noteRewritten(): void;
  /** To be called now and then, say once an hour; beside everything else. */
  maintain(signal: AbortSignal): Promise<void>;
  /** After an object was missing that should be there: starts from nothing, where that is possible. */
  reset(): Promise<void>;
}

/** The copy does not hold an object that it should: it was damaged, or history was rewritten and collected. */
export class MissingObjectError extends Error {
  constructor(id: string) {
    super(`the local copy of the branch has no object ${id}`);
    this.name = 'MissingObjectError';
  }
}
