import { describe, expect, it } from 'vitest';
import { classifyRejection, classifyStatus } from '../../src/git/rejection.ts';

describe('classifyRejection', () => {
  it.each([
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
