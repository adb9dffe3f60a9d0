import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredSet } from '../../../../src/delivery/delivery.ts';
import { git, GitRemote, manifest } from './git-remote.ts';
import { Signer, signWith, workOf } from './signed-history.ts';
import { SourceRun } from './source-run.ts';

const A = 'clusters/eu/apps/shop/a.yaml';
const B = 'clusters/eu/apps/shop/b.yaml';
const ELSEWHERE = 'clusters/us/apps/shop/a.yaml';

let remote: GitRemote;
let run: SourceRun;
let plane: Signer;
let stranger: Signer;

beforeEach(() => {
  remote = new GitRemote();
  plane = new Signer(remote, 'plane');
  stranger = new Signer(remote, 'stranger');
  run = new SourceRun(remote);
});
afterEach(async () => {
  await run[Symbol.asyncDispose]();
  remote[Symbol.dispose]();
});

function push(by: Signer | undefined, files: Readonly<Record<string, string | null>>): string {
  signWith(remote, by);
  return remote.push(files).slice(0, 12);
}

const names = ({ objects, faults }: DesiredSet) => [
  objects.map(({ key }) => key.replace(/^.*\//, '')),
  faults.map(({ reason, message }) => `${reason}: ${message}`),
];

const refused = (message: string) => [[], [expect.stringMatching(new RegExp(`^CommitNotTrusted: ${message}`))]];

/** What the source brings of the remote as it is now, with these signers. */
async function read(allowedSigners = [plane.allowed], trustedRevision?: string): Promise<unknown> {
  run.tell({ allowedSigners, ...(trustedRevision === undefined ? {} : { trustedRevision }) });
  return names(await run.nextInTime(60_000));
}

describe('where signed commits are required', () => {
  it('reads a signed tip, nothing of one that is not, says so once, and goes on by itself with a good one', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    const bad = push(undefined, { [B]: manifest('b') });
    const set = (run.tell({ allowedSigners: [plane.allowed] }), await run.nextInTime(60_000));
    expect(names(set)).toEqual(
      refused(`commit ${bad} is not signed; the directory there is revision \\w+. Nothing of main at file:`),
    );
    expect(set.scope).toBe('partial');
    run.ask();
    for (let pass = 0; pass < 3; pass += 1) {
      await run.atRest();
      run.clock.advance(60_000);
    }
    // The person takes it back, and signs what she does.
    git(workOf(remote), 'reset', '--quiet', '--hard', 'HEAD~1');
    push(plane, { [B]: manifest('b', { version: '6.6.0' }) });
    expect(await read()).toEqual([['a.yaml', 'b.yaml'], []]);
  });

  it('names the key of somebody whose signature does not count', async () => {
    const bad = push(stranger, { [A]: manifest('a') });
    expect(await read()).toEqual(refused(`commit ${bad} is signed by the key SHA256:\\S+, which is not among`));
  });

  it.each([
    ['ecdsa-sha2-nistp256', ['-t', 'ecdsa', '-b', '256']],
    ['rsa', ['-t', 'rsa', '-b', '2048']],
  ])('takes the %s key of a person', async (name, type) => {
    const person = new Signer(remote, name, type);
    push(person, { [A]: manifest('a') });
    expect(await read([plane.allowed, person.allowed])).toEqual([['a.yaml'], []]);
  });

  it('does not let a signed commit cover what somebody else did to the directory below it', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    const bad = push(undefined, { [B]: manifest('b') });
    const tip = push(plane, { [A]: manifest('a', { version: '6.6.0' }) });
    expect(await read()).toEqual(refused(`commit ${bad}, on which the tip ${tip} rests, is not signed`));
    // A person looked at the directory as it is.
    const revision = remote.treeOf('clusters/eu');
    expect(await read([plane.allowed], revision)).toEqual([['a.yaml', 'b.yaml'], []]);
    push(plane, { [B]: null });
    expect(await read([plane.allowed], revision)).toEqual([['a.yaml'], []]);
  });

  it('does not mind unsigned commits that leave the directory alone', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    push(undefined, { [ELSEWHERE]: manifest('a') });
    push(plane, { [B]: manifest('b') });
    push(undefined, { [ELSEWHERE]: manifest('a', { version: '6.6.0' }) });
    expect(await read()).toEqual([['a.yaml', 'b.yaml'], []]);
  });

  it('is not deceived by a merge that makes the older state its first parent', async () => {
    const old = push(plane, { [A]: manifest('a') });
    push(plane, { [A]: manifest('a', { version: '6.6.0' }) });
    expect(await read()).toEqual([['a.yaml'], []]);
    const work = workOf(remote);
    signWith(remote, undefined);
    git(work, 'checkout', '--quiet', '-b', 'back', old);
    git(work, 'merge', '--quiet', '-s', 'ours', '-m', 'back', 'main');
    const bad = git(work, 'rev-parse', 'HEAD').slice(0, 12);
    push(plane, { [ELSEWHERE]: manifest('x') });
    expect(await read()).toEqual(refused(`commit ${bad}, on which the tip \\w+ rests, is not signed`));
  });

  it('takes a signed merge for what it brings, whoever made the commits of its branch', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    const work = workOf(remote);
    git(work, 'checkout', '--quiet', '-b', 'topic');
    signWith(remote, undefined);
    remote.push({ [B]: manifest('b') });
    git(work, 'checkout', '--quiet', 'main');
    signWith(remote, plane);
    git(work, 'merge', '--quiet', '--no-ff', '-m', 'merged', 'topic');
    push(plane, { [ELSEWHERE]: manifest('x') });
    expect(await read()).toEqual([['a.yaml', 'b.yaml'], []]);
  });

  it('trusts the same commit no more once its key is revoked, and again once a person vouches or a successor signs', async () => {
    push(plane, { [A]: manifest('a') });
    const tip = push(plane, { [B]: manifest('b') });
    expect(await read()).toEqual([['a.yaml', 'b.yaml'], []]);
    const successor = new Signer(remote, 'successor');
    run.tell({ allowedSigners: [successor.allowed] });
    // At once: nothing waits for the next look at the remote.
    const revoked = names(await run.next());
    expect(revoked).toEqual(refused(`commit ${tip} is signed by the key`));
    const vouched = await read([successor.allowed], remote.treeOf('clusters/eu'));
    expect(vouched).toEqual([['a.yaml', 'b.yaml'], []]);
    expect(await read([successor.allowed])).toEqual(revoked);
    push(successor, { [B]: manifest('b', { version: '6.6.0' }) });
    expect(await read([successor.allowed])).toEqual([['a.yaml', 'b.yaml'], []]);
  });

  it('does not forget with a restart what it has trusted, and what it has not', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    await run[Symbol.asyncDispose]();
    const bad = push(undefined, { [B]: manifest('b') });
    push(plane, { [A]: manifest('a', { version: '6.6.0' }) });
    run = new SourceRun(remote);
    expect(await read()).toEqual(refused(`commit ${bad}, on which`));
  });

  it('reads nothing where the cluster requires it by itself and nobody is named, until somebody is', async () => {
    let requires = false;
    await run[Symbol.asyncDispose]();
    run = new SourceRun(remote, { requiresSignedCommits: () => requires });
    push(plane, { [A]: manifest('a') });
    run.tell();
    expect(names(await run.next())).toEqual([['a.yaml'], []]);
    requires = true;
    run.lookAgain();
    expect(names(await run.nextInTime(60_000))).toEqual(refused('signed commits are required here'));
    expect(await read()).toEqual([['a.yaml'], []]);
  });

  it("names of a cluster's own repository the commit that people know beside the one that is there", async () => {
    const source = '0123456789ab'.padEnd(40, 'c');
    signWith(remote, undefined);
    const bad = remote.push({ [A]: manifest('a') }, `edit\n\nSource-Commit: ${source}`).slice(0, 12);
    run.tell({ path: '', allowedSigners: [plane.allowed] });
    const [, faults] = names(await run.nextInTime(60_000));
    expect(faults?.[0]).toMatch(
      new RegExp(`^CommitNotTrusted: commit ${bad} \\(Source-Commit 0123456789ab\\) is not signed`),
    );
  });

  it('reads what is unsigned where nobody is named, and trusts nobody where the list is empty', async () => {
    push(undefined, { [A]: manifest('a') });
    run.tell();
    expect(names(await run.next())).toEqual([['a.yaml'], []]);
    expect(await read([])).toEqual(refused('signed commits are required here, and the control plane names nobody'));
  });
});
