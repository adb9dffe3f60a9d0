import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FetchLike } from '../../../../src/git/receive-pack.ts';
import { Secret } from '../../../../src/runtime/secret.ts';
import { git, type GitServer } from '../../../git/git-server.ts';
import { isPush, pushesThrough, report } from './refusing-host.ts';
import { apply } from './rendered-intent.ts';
import { commitByHand, deliver, startAcme, subjects, writerOn } from './writer.ts';

let server: GitServer;

beforeEach(async () => {
  server = await startAcme();
});

afterEach(async () => {
  await git(server.path('acme'), ['fsck', '--strict', '--no-dangling']);
  await server[Symbol.asyncDispose]();
});

describe('GitopsDelivery when an intent cannot be delivered', () => {
  it.each([
    ['a name that climbs', { name: '../b' }, 'the name "../b" cannot be a path in Git'],
    ['an absolute name', { name: '/etc/passwd' }, 'the name "/etc/passwd" cannot be'],
    ['a NUL', { name: 'a\0b' }, String.raw`the name "a\u0000b" cannot be`],
    ['a .git segment', { namespace: '.git' }, 'the namespace ".git" cannot be'],
    ['upper case', { name: 'Podinfo' }, 'the name "Podinfo" cannot be'],
    ['a namespace with a slash', { namespace: 'a/b' }, 'the namespace "a/b" cannot be'],
    ['another cluster by its slug', { slug: '../prod-us' }, 'the cluster slug "../prod-us" cannot be'],
    ['a name too long for a file', { name: 'a'.repeat(252) }, 'its path has a segment of more than 255 bytes'],
  ])('refuses %s for good, and delivers the rest', async (_name, wanted, message) => {
    await using delivery = writerOn(server);
    const [bad, good] = [apply(wanted), apply({ name: 'good' })];
    const receipts = await deliver(delivery, [bad, good]);
    const refused = receipts.find(({ intentId }) => intentId === bad.intent.id);
    expect(refused).toMatchObject({ state: 'refused', reason: 'PathNotAllowed' });
    expect(refused?.state === 'refused' && refused.message).toContain(message);
    expect(await subjects(server)).toEqual(['prod-eu: install shop/good 6.5.0']);
  });

  it.each([
    ['a symbolic link', 'clusters/prod-eu/apps/shop', '../../prod-us', '120000', 'apps/shop', 'is a symbolic link'],
    [
      'a file in place of a directory',
      'clusters/prod-eu/apps',
      'x',
      '100644',
      'apps',
      'is a file where a directory is needed',
    ],
    [
      'a case twin',
      'clusters/prod-eu/Apps/shop/x.yaml',
      'x',
      '100644',
      'clusters/prod-eu/apps',
      'differs from the existing "Apps" by case alone',
    ],
    [
      'a directory in place of the file',
      'clusters/prod-eu/apps/shop/podinfo.yaml/x',
      'x',
      '100644',
      'podinfo.yaml',
      'is a directory',
    ],
  ])('refuses to write through %s', async (_name, path, content, mode, at, problem) => {
    await commitByHand(server, path, content, mode);
    await using delivery = writerOn(server);
    const receipts = await deliver(delivery, [apply({})]);
    expect(receipts).toMatchObject([{ state: 'refused', reason: 'PathNotAllowed' }]);
    const text = receipts[0]?.state === 'refused' ? receipts[0].message : '';
    expect(text).toContain(at);
    expect(text).toContain(problem);
    expect(server.pushes()).toBe(0);
  });

  it('refuses a manifest of more than 512 KiB', async () => {
    await using delivery = writerOn(server);
    const receipts = await deliver(delivery, [apply({ values: { text: 'x'.repeat(600_000) } })]);
    expect(receipts).toMatchObject([{ state: 'refused', reason: 'ManifestTooLarge' }]);
  });

  it('leaves out the commits that the host names, in one more push, and delivers the others', async () => {
    // A credential that lacks one cluster, so that the real host refuses its commit.
    await using delivery = writerOn(server, {
      mintCredential: async (scope) => {
        const token = `narrow-${scope.length}-${Math.random()}`;
        const narrow = scope.filter(({ clusterId }) => clusterId !== 'c-forbidden');
        server.tokens.set(token, { repository: 'acme', access: { access: 'write', scope: narrow } });
        return { username: 'x', password: new Secret(token) };
      },
    });
    const batch = [
      apply({ slug: 'one' }),
      apply({ slug: 'forbidden' }),
      apply({ slug: 'two' }),
      apply({ slug: 'forbidden', name: 'b' }),
    ];
    const receipts = await deliver(delivery, batch);
    const states = batch.map(({ intent }) => receipts.find(({ intentId }) => intentId === intent.id)?.state);
    expect(states).toEqual(['delivered', 'refused', 'delivered', 'refused']);
    const refused = receipts.find(({ state }) => state === 'refused');
    expect(refused).toMatchObject({ reason: 'RefusedByGitHost' });
    expect(refused?.state === 'refused' && refused.message).toMatch(
      /^refused: commit [0-9a-f]{40}: its Cluster-Id "c-forbidden" is not one that this credential may write for$/,
    );
    expect(server.pushes()).toBe(2);
    expect(await subjects(server)).toEqual(['one: install shop/podinfo 6.5.0', 'two: install shop/podinfo 6.5.0']);
  });

  it('finds the commit that a host refuses without naming it, by parting the batch', async () => {
    const refuse: FetchLike = async (url, init) => {
      const text = isPush(url) && init.body instanceof Uint8Array ? await contentOf(init.body) : '';
      return text.includes('name: bad') ? report('pre-receive hook declined', 'we do not like this') : fetch(url, init);
    };
    await using delivery = writerOn(server, { fetchLike: refuse });
    const batch = Array.from({ length: 16 }, (_, index) => apply({ name: index === 11 ? 'bad' : `app-${index}` }));
    const receipts = await deliver(delivery, batch);
    const bad = batch[11]?.intent.id;
    expect(receipts.filter(({ state }) => state === 'delivered').length).toBe(15);
    expect(receipts.find(({ intentId }) => intentId === bad)).toEqual({
      state: 'refused',
      intentId: bad,
      reason: 'RefusedByGitHost',
      message: 'pre-receive hook declined: we do not like this',
    });
    expect((await subjects(server)).length).toBe(15);
  });

  it('stops asking when the host refuses everything, and keeps what it cannot tell for later', async () => {
    let pushes = 0;
    const fetchLike = pushesThrough(async (push) => {
      pushes = push;
      return report('pre-receive hook declined', 'no');
    });
    await using delivery = writerOn(server, { fetchLike });
    const receipts = await deliver(
      delivery,
      Array.from({ length: 100 }, (_, index) => apply({ name: `app-${index}` })),
    );
    expect(receipts.length).toBe(100);
    expect(new Set(receipts.map(({ state }) => state))).toEqual(new Set(['refused', 'retry']));
    expect(pushes).toBe(40);
  });

  it('blames no intent for a branch that is protected', async () => {
    const fetchLike = pushesThrough(async () =>
      report('protected branch hook declined', 'error: GH006: Protected branch update failed'),
    );
    await using delivery = writerOn(server, { fetchLike });
    const receipts = await deliver(delivery, [apply({}), apply({ name: 'b' })]);
    expect(receipts.map(({ state }) => state)).toEqual(['retry', 'retry']);
    expect(receipts[0]?.state === 'retry' && receipts[0].message).toContain('GH006');
  });
});

/** Manifests in a push's pack, by asking git: a pack of these tests is small. */
async function contentOf(body: Uint8Array): Promise<string> {
  const pack = Buffer.from(body).subarray(Buffer.from(body).indexOf('PACK'));
  const folder = join(server.folder, `unpacked-${Math.random()}.git`);
  await git(server.folder, ['init', '--quiet', '--bare', folder]);
  await writeFile(join(folder, 'objects/info/alternates'), `${join(server.path('acme'), 'objects')}\n`);
  await git(folder, ['unpack-objects', '-q'], { input: pack });
  const ids = await git(folder, ['cat-file', '--batch-all-objects', '--batch-check', '--unordered']);
  const blobs = ids.split('\n').filter((line) => line.includes(' blob '));
  const fresh = await git(folder, ['cat-file', '--batch'], {
    input: blobs.map((line) => line.slice(0, 40)).join('\n'),
  });
  const known = await git(server.path('acme'), ['cat-file', '--batch-all-objects', '--batch-check']);
  await rm(folder, { recursive: true, force: true });
  return blobs.every((line) => known.includes(line)) ? '' : fresh;
}
