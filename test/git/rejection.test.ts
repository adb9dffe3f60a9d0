import { describe, expect, it } from 'vitest';
import { classifyRejection, classifyStatus } from '../../src/git/rejection.ts';

/** Where the wordings below were seen, or the source that writes them. */
const SEEN = {
  git: 'git: builtin/receive-pack.c, builtin/send-pack.c, refs/files-backend.c',
  gitHubLock: 'github.com/ad-m/github-push-action/issues/61, slsa-framework/example-package/issues/250',
  gitHubProtected: 'github.com/FABLE-3DXRD/ImageD11/issues/414 (GH006)',
  gitHubSignatures: 'github.com/vercel/sandbox/pull/169, transloadit/uppy/pull/6442 (GH013)',
  gitHubRules: 'github.com/anchorageoss/visualsign-parser/pull/46 (GH013, rules about the branch and about commits)',
  gitHubArchived: 'github.com/googleapis/repo-automation-bots/issues/2671',
  gitLabOldValue: 'github.com/akuity/kargo/pull/5608; scenario G1',
  gitLabProtected: 'GitLab: spec/lib/gitlab/checks/branch_check_spec.rb; qa/…/protected_branch_support',
  gitLabApi: 'github.com/gitlabhq/gitlabhq/issues/9575, sameersbn/docker-gitlab/issues/256 and 3031',
  giteaProtected: 'Gitea: routers/private/hook_pre_receive.go; go-gitea/gitea/issues/7561',
  giteaMirror: 'github.com/RayLabsHQ/gitea-mirror/issues/59',
  bitbucketBranch: 'community.atlassian.com/t5/Bitbucket-questions/…/qaq-p/2249496',
  bitbucketCommitter: 'github.com/renovatebot/renovate/pull/11154',
  libgit2: 'github.com/mozilla/addons/issues/7443',
} as const;

describe('classifyRejection', () => {
  it.each<readonly [string, string, string, string]>([
    [
      SEEN.gitHubLock,
      "cannot lock ref 'refs/heads/main': is at 66941e6196d60ec8a5f14cc3cd5764037bad4e82 but expected cdec69331ca3b4565378c23c6f917d5f89426a3a",
      '',
      'moved',
    ],
    [
      SEEN.gitHubProtected,
      'protected branch hook declined',
      'error: GH006: Protected branch update failed for refs/heads/master.\n\n- Changes must be made through a pull request.',
      'auth',
    ],
    [
      SEEN.gitHubSignatures,
      'push declined due to repository rule violations',
      'error: GH013: Repository rule violations found for refs/heads/main.\n- Commits must have verified signatures.\n  Found 1 violation:\n\n  027faa7121ee9df79db623e1a2848d2cc88a8dba',
      'refused',
    ],
    [
      SEEN.gitHubRules,
      'push declined due to repository rule violations',
      'error: GH013: Repository rule violations found for refs/heads/main.\n- Changes must be made through a pull request.\n- Commits must have verified signatures.\n  Found 1 violation:\n\n  5cbd07211cca9d7c959f48cd0b10e6b6366c619e',
      'auth',
    ],
    [
      SEEN.gitHubRules,
      'push declined due to repository rule violations',
      'Cannot create ref due to creations being restricted.',
      'auth',
    ],
    [SEEN.gitHubArchived, 'denied', 'This repository was archived so it is read-only.', 'auth'],
    [SEEN.gitLabOldValue, 'incorrect old value provided', '', 'moved'],
    [
      SEEN.gitLabProtected,
      'pre-receive hook declined',
      'GitLab: You are not allowed to push code to protected branches on this project.',
      'auth',
    ],
    [
      SEEN.gitLabProtected,
      'pre-receive hook declined',
      'GitLab: You are not allowed to push code to this project.',
      'auth',
    ],
    [
      SEEN.gitLabProtected,
      'pre-receive hook declined',
      "GitLab: You cannot push commits for 'x@example.com'. You can only push commits if the committer email is one of your own verified emails.",
      'auth',
    ],
    [
      SEEN.gitLabApi,
      'pre-receive hook declined',
      'GitLab: Failed to authorize your Git request: internal API unreachable',
      'unavailable',
    ],
    [SEEN.gitLabApi, 'pre-receive hook declined', 'GitLab: API is not accessible', 'unavailable'],
    [SEEN.giteaProtected, 'pre-receive hook declined', 'Gitea: protected branch master can not be pushed to', 'auth'],
    [
      SEEN.giteaProtected,
      'pre-receive hook declined',
      'Forgejo: Not allowed to force-push to protected branch main',
      'auth',
    ],
    [SEEN.giteaMirror, 'denied', 'mirror repository is read-only', 'auth'],
    [SEEN.bitbucketBranch, 'pre-receive hook declined', 'Permission denied to update branch main.', 'auth'],
    [
      SEEN.bitbucketCommitter,
      'pre-receive hook declined',
      'You can only push your own commits in this repository',
      'auth',
    ],
    [SEEN.libgit2, 'old reference value does not match', '', 'moved'],
    [SEEN.git, 'remote ref updated since checkout', '', 'moved'],
    ['git', 'non-fast-forward', '', 'moved'],
    ['git', 'fetch first', '', 'moved'],
    ['git', 'stale info', '', 'moved'],
    [
      'git',
      'failed to update ref',
      "error: cannot lock ref 'refs/heads/main': is at 1234567 but expected 89abcde",
      'moved',
    ],
    [
      'git',
      'failed to update ref',
      "error: cannot lock ref 'refs/heads/main': Unable to create '/x/main.lock': File exists.",
      'moved',
    ],
    ['git', 'unpacker error', 'fatal: pack has 1 unresolved delta', 'moved'],
    ['git', 'pre-receive hook declined', 'no', 'refused'],
    ['git', 'hook declined', '', 'refused'],
    [
      'our hook, with a path that holds other words',
      'hook declined',
      `refused: commit ${'a'.repeat(40)}: the path x/archived-maintenance.yaml lies outside clusters/eu`,
      'refused',
    ],
    ['git', 'unpacker error', 'error: object 1234: hasDotgit: contains .git', 'refused'],
    ['git', 'unpacker error', 'fatal: write error: No space left on device', 'unavailable'],
    ['GitHub', "cannot lock ref 'refs/heads/main': is at 9a2f5c1 but expected 52e4a9b", '', 'moved'],
    [
      'GitHub',
      'protected branch hook declined',
      'error: GH006: Protected branch update failed for refs/heads/main.',
      'auth',
    ],
    [
      'GitHub',
      'push declined due to repository rule violations',
      'error: GH013: Repository rule violations found',
      'refused',
    ],
    ['GitHub', 'Internal Server Error', '', 'unavailable'],
    ['GitLab', 'incorrect old value provided', '', 'moved'],
    ['GitLab', 'reference does not point to expected object', '', 'moved'],
    [
      'GitLab',
      'pre-receive hook declined',
      'GitLab: You are not allowed to push code to protected branches on this project.',
      'auth',
    ],
    ['GitLab', 'pre-receive hook declined', "GitLab: Commit message does not follow the pattern 'x'", 'refused'],
    ['GitLab', 'pre-receive hook declined', 'GitLab: Internal API unreachable', 'unavailable'],
    ['Gitea', 'pre-receive hook declined', 'Gitea: Not allowed to push to protected branch main', 'auth'],
    ['Gitea', 'pre-receive hook declined', 'Gitea: User permission denied for writing.', 'auth'],
    ['Forgejo', 'pre-receive hook declined', 'Forgejo: branch main is protected from force push', 'auth'],
    [
      'Bitbucket',
      'pre-receive hook declined',
      'Branch refs/heads/main can only be modified through pull requests.',
      'auth',
    ],
    ['Bitbucket', 'pre-receive hook declined', 'Permission denied to update branch main.', 'auth'],
    ['JGit', 'lock error', '', 'moved'],
  ])('%s: “%s” “%s” is %s', (_host, reason, text, rejection) => {
    expect(classifyRejection(reason, text)).toBe(rejection);
  });
});

describe('classifyStatus', () => {
  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [404, 'auth'],
    [413, 'refused'],
    [429, 'unavailable'],
    [500, 'unavailable'],
    [503, 'unavailable'],
  ])('takes %i for %s', (status, rejection) => {
    expect(classifyStatus(status)).toBe(rejection);
  });
});
