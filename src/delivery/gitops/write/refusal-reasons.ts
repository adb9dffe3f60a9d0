/** Reasons of a `refused` receipt of gitops delivery, beside those of every mode. Each is final: the same intent would be refused again. */

/** A name, namespace or slug cannot be a path, or what stands at the path in the repository (a link, a twin) forbids it. */
export const PATH_NOT_ALLOWED = 'PathNotAllowed';
/** The Git host or a hook of its owner does not accept this commit; the message is what it said. */
export const REFUSED_BY_GIT_HOST = 'RefusedByGitHost';
/** Somebody else has pushed to the branch of the intent's proposal; it is not overwritten. */
export const PROPOSAL_BRANCH_TAKEN = 'ProposalBranchTaken';
