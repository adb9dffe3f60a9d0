import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Receipt } from '../../../src/delivery/delivery.ts';
import type { FetchLike } from '../../../src/git/receive-pack.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { git, type GitServer } from '../../git/git-server.ts';
import { apply, uninstall } from './rendered-intent.ts';
import { commitByHand, deliver, delivered, instantClock, onServer, startAcme, subjects, writerOn } from './writer.ts';

let server: GitServer;

beforeEach(async () => {
  server = await startAcme();
});

afterEach(async () => {
  await git(server.path('acme'), ['fsck', '--strict', '--no-dangling']);
  await server[Symbol.asyncDispose]();
});

const isPush = (url: string): boolean => url.endsWith('/git-receive-pack');

/** A fetch in front of the real one: `before` may answer in its place, once for each push. */
function pushesThrough(before: (push: number) => Promise<Response | undefined>): FetchLike {
  let pushes = 0;
  return async (url, init) => {
    if (!isPush(url)) return fetch(url, init);
    pushes += 1;
    return (await before(pushes)) ?? fetch(url, init);
  };
}

/** A host's report that refuses the branch, as it comes over the wire. */
function report(reason: string, remoteText = ''): Response {
  const pkt = (data: string): string => (Buffer.byteLength(data) + 4).toString(16).padStart(4, '0') + data;
  const inner = `${pkt('unpack ok\n')}${pkt(`ng refs/heads/main ${reason}\n`)}0000`;
  const text = remoteText === '' ? '' : pkt(`\u0002${remoteText}\n`);
  return new Response(`${text}${pkt(`\u0001${inner}`)}0000`, { status: 200 });
}

describe('GitopsDelivery when others write too', () => {
  it('lands every commit of twenty writers at once on one branch, without rewriting anything', async () => {
    const before = await onServer(server, 'rev-parse', 'main');
    await using stack = new AsyncDisposableStack();
    const writers = Array.from({ length: 20 }, (_, index) => {
      // Most read the repository in place, as they can where the host is embedded; the others have a mirror.
      const place = index % 4 === 0 ? {} : { localPath: server.path('acme') };
      const repository = {
        name: 'acme',
        url: server.remote('acme'),
        branch: 'main',
        layout: 'flat' as const,
        ...place,
      };
      const delivery = stack.use(writerOn(server, { clock: systemClock, repository }));
      return {
        delivery,
        batch: [apply({ slug: `cluster-${index}` }), apply({ slug: `cluster-${index}`, name: 'second' })],
      };
    });
    const commits = await Promise.all(writers.map(async ({ delivery, batch }) => delivered(delivery, batch)));
    const history = (await onServer(server, 'rev-list', 'main')).split('\n');
    expect(history.length).toBe(41);
    expect(history.at(-1)).toBe(before);
    expect(commits.flat().toSorted()).toEqual(history.slice(0, -1).toSorted());
    // A straight line: nobody merged.
    expect(await onServer(server, 'rev-list', '--min-parents=2', 'main')).toBe('');
  });

  it.each([
    ['git', 'non-fast-forward'],
    ['git', 'failed to update ref'],
    ['GitHub', "cannot lock ref 'refs/heads/main': is at 9a2f5c1 but expected 52e4a9b"],
    ['GitLab', 'incorrect old value provided'],
  ])('renders anew from the new tip when %s says “%s”', async (_host, reason) => {
    const clock = instantClock();
    const fetchLike = pushesThrough(async (push) => (push <= 2 ? report(reason) : undefined));
    await using delivery = writerOn(server, { clock, fetchLike });
    await delivered(delivery, [apply({})]);
    expect(clock.waits.length).toBe(2);
    expect(await subjects(server)).toEqual(['prod-eu: install shop/podinfo 6.5.0']);
  });

  it('takes what a person committed meanwhile into account, and leaves it alone', async () => {
    await using delivery = writerOn(server);
    await delivered(delivery, [apply({})]);
    const byHand = await commitByHand(server, 'clusters/prod-eu/apps/shop/own.yaml', 'a: b\n');
    const [commit] = await delivered(delivery, [apply({ generation: 2, version: '6.6.1' })]);
    expect(await onServer(server, 'rev-parse', `${commit}^`)).toBe(byHand);
    expect(await onServer(server, 'show', 'main:clusters/prod-eu/apps/shop/own.yaml')).toBe('a: b');
  });

  it('gives up after a bounded number of races, with receipts that ask to come back', async () => {
    const fetchLike = pushesThrough(async () => report('fetch first'));
    const localPath = server.path('acme');
    const repository = { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'flat' as const, localPath };
    await using delivery = writerOn(server, { fetchLike, repository });
    const intent = apply({});
    expect(await deliver(delivery, [intent])).toEqual([
      { state: 'retry', intentId: intent.intent.id, message: 'fetch first' },
    ]);
  });

  it('goes on after the branch was rewritten and its old tip is gone', async () => {
    await using delivery = writerOn(server);
    const intents = [apply({ name: 'one' }), apply({ name: 'two' })];
    await delivered(delivery, intents);
    const root = await onServer(server, 'rev-list', '--max-parents=0', 'main');
    await onServer(server, 'update-ref', 'refs/heads/main', root);
    await onServer(server, 'reflog', 'expire', '--expire=now', '--all');
    await onServer(server, 'prune', '--expire=now');
    await delivered(delivery, [apply({ name: 'three' })]);
    expect(await subjects(server)).toEqual(['prod-eu: install shop/three 6.5.0']);
    // What was lost is not taken for delivered.
    await delivered(delivery, intents);
    expect((await subjects(server)).length).toBe(3);
  });

  it('makes its mirror anew when it is damaged', async () => {
    const mirrorPath = join(server.folder, 'damaged.git');
    await using delivery = writerOn(server, { mirrorPath });
    await delivered(delivery, [apply({})]);
    await delivery[Symbol.asyncDispose]();
    await rm(join(mirrorPath, 'objects'), { recursive: true, force: true });
    await writeFile(join(mirrorPath, 'config'), 'nonsense');
    await using restarted = writerOn(server, { mirrorPath });
    await delivered(restarted, [apply({ generation: 2, version: '6.6.1' })]);
    expect((await subjects(server)).length).toBe(2);
  });
});

describe('GitopsDelivery when the host is in trouble', () => {
  it.each([401, 403, 404])('takes %i right after minting for a credential that is not active yet', async (status) => {
    const clock = instantClock();
    let left = 3;
    server.intercept = () => {
      left -= 1;
      return left >= 0 ? status : undefined;
    };
    await using delivery = writerOn(server, { clock });
    await delivered(delivery, [apply({})]);
    expect(clock.waits.length).toBe(3);
    expect((await subjects(server)).length).toBe(1);
  });

  it('says so when the credential stays unknown, and changes nothing', async () => {
    await using delivery = writerOn(server, {
      mintCredential: async () => ({ username: 'x', password: new Secret('nobody-knows-me') }),
    });
    const intents = [apply({}), uninstall({ name: 'other' })];
    expect(await deliver(delivery, intents)).toEqual(
      intents.map(({ intent }): Receipt => ({
        state: 'retry',
        intentId: intent.id,
        message:
          'the Git credential is not active yet, or may not write here: the Git host answered 401: The Git credential is unknown, expired or revoked.',
      })),
    );
    expect(await delivery.probe(AbortSignal.timeout(5000))).toEqual({
      state: 'forbidden',
      message: 'the Git host answered 401: The Git credential is unknown, expired or revoked.',
    });
  });

  it('finds out what became of a push whose answer was lost', async () => {
    const landed: FetchLike = async (url, init) => {
      const response = await fetch(url, init);
      if (isPush(url)) throw new TypeError('fetch failed');
      return response;
    };
    await using delivery = writerOn(server, { fetchLike: landed });
    const intents = [apply({ name: 'one' }), apply({ name: 'two' })];
    const commits = await delivered(delivery, intents);
    expect(await onServer(server, 'rev-list', '--reverse', 'main~2..main')).toBe(commits.join('\n'));
    expect(server.pushes()).toBe(1);
  });

  it.each([
    ['500', async () => new Response('oops', { status: 500 }), 'the Git host answered 500: oops'],
    [
      'a proxy’s page',
      async () => new Response('<html>', { status: 200 }),
      "the Git host's report could not be read: the answer is not in Git packets",
    ],
    [
      'a report that is cut off',
      async () => new Response('00', { status: 200 }),
      "the Git host's report could not be read: the answer is not in Git packets",
    ],
    ['silence', async () => new Response('0000', { status: 200 }), 'the Git host did not say what became of the push'],
    [
      'a redirect',
      async () => Response.redirect('http://127.0.0.1:1/elsewhere', 307),
      "the Git host redirects (307): set the repository's new URL",
    ],
  ])('asks to come back after %s', async (_name, answer, message) => {
    await using delivery = writerOn(server, { fetchLike: pushesThrough(async () => answer()) });
    const intent = apply({});
    expect(await deliver(delivery, [intent])).toEqual([{ state: 'retry', intentId: intent.intent.id, message }]);
  });

  it('tells whether the host can be reached', async () => {
    await using delivery = writerOn(server);
    expect(await delivery.probe(AbortSignal.timeout(5000))).toEqual({ state: 'ready' });
    server.intercept = () => 503;
    expect(await delivery.probe(AbortSignal.timeout(5000))).toEqual({
      state: 'unreachable',
      message: 'the Git host answered 503: intercepted',
    });
    expect(server.pushes()).toBe(0);
  });

  it('stops when it is told to', async () => {
    await using delivery = writerOn(server);
    const stopped = AbortSignal.abort(new Error('shutting down'));
    await expect(Array.fromAsync(delivery.deliver([apply({})], stopped))).rejects.toThrow('shutting down');
    await delivered(delivery, [apply({})]);
  });
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
