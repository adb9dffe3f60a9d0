import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Receipt } from '../../../../src/delivery/delivery.ts';
import type { FetchLike } from '../../../../src/git/receive-pack.ts';
import { Secret } from '../../../../src/runtime/secret.ts';
import { git, type GitServer } from '../../../git/git-server.ts';
import { isPush, pushesThrough, report } from './refusing-host.ts';
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

describe('GitopsDelivery when others write too', () => {
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
