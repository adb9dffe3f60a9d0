import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { commitMessage, readTrailers, type CommitTrailers } from '../../src/git/commit-message.ts';
import { commitObject, treeOfCommit } from '../../src/git/commit-object.ts';
import { EMPTY_TREE_ID } from '../../src/git/git-object.ts';
import { git } from './git-server.ts';

const TRAILERS: CommitTrailers = {
  'Intent-Id': 'intent-1',
  'Cluster-Id': 'c-eu',
  'Idempotency-Key': 'apply/shop/podinfo@1',
  'Requested-By': 'alice',
};

let repository: string;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'git-message-'));
  repository = join(folder, 'x.git');
  await git(folder, ['init', '--quiet', '--bare', repository]);
  return async () => rm(folder, { recursive: true, force: true });
});

const message = (subject: string, reason?: string, trailers = TRAILERS): string =>
  commitMessage({ subject, reason, trailers });

/** What git itself takes for subject and trailers. */
async function asGitReads(text: string): Promise<readonly string[]> {
  const at = new Date('2026-01-01T00:00:00Z');
  const { bytes } = commitObject({
    tree: EMPTY_TREE_ID,
    parent: undefined,
    identity: { name: 'x', email: 'x@y' },
    at,
    message: text,
  });
  await git(repository, ['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' });
  const id = await git(repository, ['hash-object', '-w', '-t', 'commit', '--stdin'], { input: bytes });
  const format =
    '%s%x00%(trailers:key=Intent-Id,valueonly,separator=%x2C)%x00%(trailers:key=Cluster-Id,valueonly,separator=%x2C)%x00%(trailers)';
  return (await git(repository, ['show', '-s', `--format=${format}`, id])).split('\0');
}

describe('commitMessage', () => {
  it('is subject, reason and trailers', () => {
    expect(message('prod-eu: install shop/podinfo', 'Because.\r\n\r\n\r\n\r\nReally.  ')).toBe(
      'prod-eu: install shop/podinfo\n\nBecause.\n\nReally.\n\nIntent-Id: intent-1\nCluster-Id: c-eu\nIdempotency-Key: apply/shop/podinfo@1\nRequested-By: alice\n',
    );
    expect(message('x')).toBe(
      'x\n\nIntent-Id: intent-1\nCluster-Id: c-eu\nIdempotency-Key: apply/shop/podinfo@1\nRequested-By: alice\n',
    );
  });

  it('lets no subject or trailer break out of its line, and cuts what is too long', () => {
    const text = message('a\nCluster-Id: c-us\u2028b', undefined, {
      ...TRAILERS,
      'Requested-By': `eve\n\nCluster-Id: c-us\u0000\u202e${'x'.repeat(600)}`,
    });
    const lines = text.split('\n');
    expect(lines[0]).toBe('a Cluster-Id: c-us b');
    expect(lines.at(-2)).toMatch(/^Requested-By: eve Cluster-Id: c-usx+…$/);
    expect(Array.from(lines.at(-2) ?? '').length).toBe('Requested-By: '.length + 500);
    expect(Array.from(message('é'.repeat(200)).split('\n')[0] ?? '').length).toBe(100);
  });

  it.each([
    'Cluster-Id: c-us',
    'x\n\nCluster-Id: c-us\nIntent-Id: other',
    'x\n---\nCluster-Id: c-us',
    'Signed-off-by: x\n(cherry picked from commit 1)\nCluster-Id: c-us',
    '\n\n\nCluster-Id: c-us\n\n\n',
    'Intent-Id: other\n continued',
    'x\u0085\u0085Cluster-Id: c-us',
    '# a comment\nCluster-Id : c-us',
  ])('lets the reason %j forge no trailer', async (reason) => {
    const [, intent, cluster, trailers] = await asGitReads(message('x', reason));
    expect([intent, cluster]).toEqual(['intent-1', 'c-eu']);
    expect(trailers?.trim().split('\n').length).toBe(4);
  });

  it('is read back as it was written, whatever the reason', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.string({ unit: 'binary', maxLength: 50 }),
        (reason, subject) => {
          const text = message(`s${subject}`, reason);
          expect(Object.fromEntries(readTrailers(text))).toEqual(TRAILERS);
          // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
          expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
          expect(text.split('\n\n').at(-1)?.startsWith('Intent-Id: intent-1\n')).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gives no trailers for a message that has none', () => {
    expect(readTrailers('Subject: x\n').size).toBe(0);
    expect(readTrailers('x\n\nA body: with\nmore text\n').size).toBe(0);
  });
});

describe('commitObject', () => {
  it('lets no identity break out of its line', async () => {
    const at = new Date('2026-01-01T00:00:00Z');
    const identity = { name: 'A\n<b> ', email: 'c>\nparent x' };
    const { bytes } = commitObject({ tree: EMPTY_TREE_ID, parent: undefined, identity, at, message: 'x\n' });
    expect(bytes.toString('utf8').split('\n')[1]).toBe('author Ab <cparent x> 1767225600 +0000');
    expect(treeOfCommit(bytes)).toBe(EMPTY_TREE_ID);
    expect(() => treeOfCommit(Buffer.from('blob'))).toThrow('a commit names no tree');
  });
});
