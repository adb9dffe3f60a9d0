import type { ScopeEntry } from './git-access.ts';

/** What may be made, rewritten and deleted: one branch for each proposed intent of a cluster. */
const PROPOSAL =
  /^refs\/heads\/proposals\/([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\/(?!.*(?:\.\.|\.lock$|\.$))[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The part of a scope that may write a proposal's branch: the cluster's of its name. Empty: nobody may, or it is no such branch. */
export function proposalScope(ref: string, scope: readonly ScopeEntry[]): readonly ScopeEntry[] {
  const slug = PROPOSAL.exec(ref)?.[1];
  return slug === undefined ? [] : scope.filter(({ directory }) => directory.split('/').at(-1) === slug);
}
