import { describe, expect, onTestFinished, test } from 'vitest';
import { ProposalHostFault } from '../../../src/delivery/gitops/proposal-hosts/proposal-host.ts';
import { FakeGitHost } from '../../support/git-hosts/fake-host.ts';
import { apiOf, HOSTS } from './host-api.ts';

const BRANCH = 'proposals/prod-eu/int_1';
const FILE = 'clusters/prod-eu/apps/shop/podinfo.yaml';
const TEXT = { title: 'prod-eu: install shop/podinfo 6.6.1', body: 'Asked for by `an admin`.' };
const stop = new AbortController().signal;

describe.each(HOSTS)('pull and merge requests on $shape.kind', ({ shape, open }) => {
  async function start() {
    const fake = await FakeGitHost.start(shape);
    onTestFinished(async () => await fake[Symbol.asyncDispose]());
    await fake.repository.write('main', { 'clusters/prod-eu/README.md': 'one\n' }, 'Begin');
    await propose(fake);
    return { fake, host: open(apiOf(fake)) };
  }

  /** The branch anew on the tip of the shared one, as the control plane pushes it. */
  async function propose(fake: FakeGitHost, branch = BRANCH): Promise<string> {
    await fake.repository.branch(branch, 'main');
    return await fake.repository.write(branch, { [FILE]: 'kind: ApplicationInstance\n' }, TEXT.title);
  }

  const proposal = { ...TEXT, headBranch: BRANCH, targetBranch: 'main' };

  async function faultOf(work: Promise<unknown>): Promise<ProposalHostFault> {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ProposalHostFault);
    return error as ProposalHostFault;
  }

  test('opens one, with its number, address and head', async () => {
    const { fake, host } = await start();
    const opened = await host.open(proposal, stop);
    const headCommit = await fake.repository.head(BRANCH);
    expect(opened).toMatchObject({ number: 1, state: 'open', headCommit, targetBranch: 'main' });
    expect(opened.url).toMatch(new RegExp(`^${fake.url}/acme/fleet/.*1$`));
    expect(fake.request(1)).toMatchObject({ ...TEXT, branch: BRANCH, base: 'main' });
  });

  test('opening again finds the open one of the branch and brings it up to the text', async () => {
    const { fake, host } = await start();
    await host.open(proposal, stop);
    const again = await host.open({ ...proposal, title: 'prod-eu: install shop/podinfo 6.6.2' }, stop);
    expect(again.number).toBe(1);
    expect(fake.requests.map(({ number, title }) => [number, title])).toEqual([
      [1, 'prod-eu: install shop/podinfo 6.6.2'],
    ]);
  });

  test('finds one that was opened by a request whose answer was lost', async () => {
    const { fake, host } = await start();
    let isLost = false;
    fake.intercept = async ({ method, path, body }) => {
      if (method !== 'POST' || isLost || path.includes('comments')) return undefined;
      isLost = true;
      await fake.add({ ...TEXT, title: String(body['title']), branch: BRANCH, base: 'main' });
      return { status: 502 };
    };
    expect((await faultOf(host.open(proposal, stop))).kind).toBe('unavailable');
    expect((await host.open(proposal, stop)).number).toBe(1);
    expect(fake.requests).toHaveLength(1);
  });

  test('takes no request of a fork for its own, whatever its branch is called', async () => {
    const { fake, host } = await start();
    await host.open(proposal, stop);
    const theirs = await fake.add({ title: 'Theirs', body: '', branch: BRANCH, base: 'main', fork: 'mallory' });
    expect((await host.open(proposal, stop)).number).toBe(1);
    expect(theirs.title).toBe('Theirs');
  });

  test('does not merge into another branch than it was opened for', async () => {
    const { fake, host } = await start();
    await fake.repository.branch('release', 'main');
    const { number, headCommit = '' } = await host.open(proposal, stop);
    fake.retargetOnHost(number, 'release');
    const fault = await faultOf(host.merge(number, { headCommit, targetBranch: 'main' }, stop));
    expect([fault.kind, fault.message]).toEqual(['refused', expect.stringContaining('into release and not into main')]);
    expect(fake.request(number).state).toBe('open');
    expect(await host.find(number, stop)).toMatchObject({ targetBranch: 'release' });
  });

  test('opens a new one of a branch whose last one is closed', async () => {
    const { fake, host } = await start();
    await host.open(proposal, stop);
    await fake.closeOnHost(1);
    expect((await host.open(proposal, stop)).number).toBe(2);
  });

  test.each(['merge', 'squash', 'rebase'] as const)('merges by %s where the repository is set so', async (strategy) => {
    const { fake, host } = await start();
    fake.strategy = strategy;
    const { number, headCommit = '' } = await host.open(proposal, stop);
    const merged = await host.merge(number, { headCommit, targetBranch: 'main' }, stop);
    expect(merged).toMatchObject({ number, state: 'merged', mergeCommit: await fake.repository.head('main') });
    expect(await fake.repository.read('main', FILE)).toBe('kind: ApplicationInstance');
    // Merged already is no fault.
    expect(await host.merge(number, { headCommit, targetBranch: 'main' }, stop)).toMatchObject({ state: 'merged' });
  });

  test('does not merge a head that is another one than what was approved', async () => {
    const { fake, host } = await start();
    const { number, headCommit = '' } = await host.open(proposal, stop);
    await fake.repository.write(BRANCH, { [FILE]: 'kind: Other\n' }, 'A fix by a reviewer');
    expect((await faultOf(host.merge(number, { headCommit, targetBranch: 'main' }, stop))).kind).toBe('moved');
    expect(fake.request(number).state).toBe('open');
  });

  test("says in the host's words why it does not merge", async () => {
    const { fake, host } = await start();
    const { number, headCommit = '' } = await host.open(proposal, stop);
    fake.blocked = shape.kind === 'gitlab' ? 'not_approved' : 'At least 1 approving review is required';
    const fault = await faultOf(host.merge(number, { headCommit, targetBranch: 'main' }, stop));
    expect(fault.kind).toBe('refused');
    expect(fault.message).toContain(fake.blocked);
    fake.blocked = undefined;
    expect(await host.merge(number, { headCommit, targetBranch: 'main' }, stop)).toMatchObject({ state: 'merged' });
  });

  test('refuses what conflicts with the branch by now', async () => {
    const { fake, host } = await start();
    const { number, headCommit = '' } = await host.open(proposal, stop);
    await fake.repository.write('main', { [FILE]: 'kind: Third\n' }, 'By hand');
    expect((await faultOf(host.merge(number, { headCommit, targetBranch: 'main' }, stop))).kind).toBe('refused');
  });

  test('closes with a comment, and closing again changes nothing', async () => {
    const { fake, host } = await start();
    const { number } = await host.open(proposal, stop);
    await host.close(number, 'Rejected by `an admin`.', stop);
    await host.close(number, 'Rejected by `an admin`.', stop);
    expect(fake.request(number)).toMatchObject({ state: 'closed', comments: ['Rejected by `an admin`.'] });
    expect(await host.find(number, stop)).toMatchObject({
      state: 'closed',
      // Gitea does not tell.
      ...(shape.kind === 'gitea' ? {} : { closedBy: 'service' }),
    });
  });

  test('closing what was merged or is gone is no fault', async () => {
    const { fake, host } = await start();
    const { number } = await host.open(proposal, stop);
    await fake.mergeOnHost(number, 'squash');
    await host.close(number, 'too late', stop);
    await host.close(77, 'gone', stop);
    expect(fake.request(number)).toMatchObject({ state: 'merged', comments: [] });
    expect(await host.find(77, stop)).toBeUndefined();
  });

  test('tells who merged it, as which commit', async () => {
    const { fake, host } = await start();
    const { number } = await host.open(proposal, stop);
    const mergeCommit = await fake.mergeOnHost(number, 'merge', 'mona');
    expect(await host.find(number, stop)).toMatchObject({
      state: 'merged',
      mergeCommit,
      closedBy: 'mona',
    });
  });

  test('follows a hundred and one open ones by their list, and then only what changed', async () => {
    const { fake, host } = await start();
    for (let at = 0; at < 101; at += 1)
      await fake.add({ ...TEXT, branch: `proposals/prod-eu/int_${at}`, base: 'main' });
    const first = await host.changes({}, stop);
    expect(new Set(first.requests.map(({ number }) => number)).size).toBe(101);
    expect(fake.calls).toHaveLength(3);
    await fake.closeOnHost(7);
    const second = await host.changes(first.cursor, stop);
    expect(fake.calls).toHaveLength(4);
    // The one that was the newest before is seen once more: it may have changed again in that second.
    expect(second.requests.map(({ number, state }) => [number, state])).toEqual([
      [7, 'closed'],
      [101, 'open'],
    ]);
    const third = await host.changes(second.cursor, stop);
    expect(third.requests.map(({ number }) => number)).toEqual(shape.hasEtags ? [] : [7]);
    expect(fake.calls.at(-1)?.status).toBe(shape.hasEtags ? 304 : 200);
  });

  test('a credential that is not taken is told from a request that is gone', async () => {
    const { fake, host } = await start();
    await host.open(proposal, stop);
    fake.token = 'another';
    const fault = await faultOf(host.find(1, stop));
    expect(fault.kind).toBe('forbidden');
    expect(fault.message).toContain('not active yet');
    fake.token = 'glpat-or-ghp-0123456789abcdef';
    fake.intercept = () => ({ status: 404, body: { message: 'Not Found' } });
    const hidden = await faultOf(host.find(1, stop));
    expect(hidden.kind).toBe('forbidden');
    expect(hidden.message).toMatch(/it needs the (permission|scope)/);
  });
});
