/**
 * Why a host did not take a push, by what the writer does next: `moved` fetch and render anew; `refused` find the
 * commit at fault and leave it out; `auth` the credential may not write here (yet); `unavailable` try again later.
 */
export type Rejection = 'moved' | 'refused' | 'auth' | 'unavailable';

export interface Rejected {
  readonly state: 'rejected';
  readonly rejection: Rejection;
  readonly message: string;
}

/** Wordings of each host, with where they are known from in `test/git/rejection.test.ts`; the first row that matches decides. */
const WORDINGS: readonly (readonly [Rejection, RegExp])[] = [
  // Our own host and hook (examples/git-hooks) name the commits at fault, and their paths, which may hold any of the words
  // below.
  ['refused', /\brefused: commit [0-9a-f]{40}: /],
  // A branch that moved. Git: "non-fast-forward", "fetch first", "stale info", "failed to update ref", "cannot lock ref
  // 'refs/heads/main': is at … but expected …". GitLab (Gitaly): "incorrect old value provided", "reference does not
  // point to expected object", "reference already exists". JGit: "lock error", "LOCK_FAILURE". libgit2: "old reference
  // value does not match".
  [
    'moved',
    /non-fast[- ]?forward|fetch first|stale info|cannot lock ref|failed to (update|lock) ref|unable to (lock|resolve reference)|failed to lock|lock[ _](error|failure)|incorrect old value|old reference value does not match|is at [0-9a-f]{7,} but expected|does not point to expected object|reference (already exists|is already locked)|remote ref updated since|invalid new value provided|unresolved deltas?|missing necessary objects|Unable to create '.*\.lock'/i,
  ],
  // The branch or the repository is closed to this credential, whatever is pushed: no commit is at fault. GitHub: GH006,
  // GH013 where a rule wants pull requests or keeps anybody out (one that is about commits names them), archived. GitLab:
  // "You are not allowed to push", "You can only push commits if the committer email is one of your own". Gitea and
  // Forgejo: "Not allowed to push to protected branch", "User permission denied for writing". Bitbucket: "Permission
  // denied to update branch", "can only be modified through pull requests", "can only push your own commits".
  [
    'auth',
    /protected (branch|ref)|GH006|branch \S+ is protected|not allowed to (force-)?push|permission denied (for|to)|you (do not|don't) have permission|can only be modified through pull requests|changes must be made through a (pull|merge) request|(creations|updates|pushes) being restricted|can only push (your own )?commits|write access to (the )?repository not granted|archived|read-only|access denied|authentication failed|credential.*(expired|revoked)/i,
  ],
  // The host itself is in trouble. GitLab: "Internal API unreachable", "GitLab: Internal API error", "API is not
  // accessible". Gitea: "Internal Server Error". Disk full, out of memory, a hook that timed out.
  [
    'unavailable',
    /internal (api|server) (unreachable|error)|internal error|api is not accessible|temporarily unavailable|try again later|timed? ?out|no space left|disk quota|out of memory|cannot allocate memory|unable to create temporary|maintenance|too many (requests|connections)|index-pack (died|abnormal exit)|unpack-objects (died|abnormal exit)|service unavailable/i,
  ],
];

/**
 * Classifies what a host wrote: the reason of `ng` (or of `unpack`) in its report, and the text that its hooks sent
 * along. Whatever is not known is `refused`: a hook of the user's own that does not like a commit.
 */
export function classifyRejection(reason: string, remoteText: string): Rejection {
  const text = `${reason}\n${remoteText}`;
  for (const [rejection, wording] of WORDINGS) if (wording.test(text)) return rejection;
  return 'refused';
}

/** Classifies an HTTP status that came instead of a report. */
export function classifyStatus(status: number): Rejection {
  if (status === 401 || status === 403 || status === 404) return 'auth';
  // Too large: half of the batch may pass.
  if (status === 413) return 'refused';
  return 'unavailable';
}
