import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createLoopbackCertificate } from '../../../../src/sandbox/loopback-certificate.ts';
import { git, GitRemote, manifest } from './git-remote.ts';
import { GitHttp } from './git-http.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';
const MANIFESTS = Object.fromEntries(
  ['a', 'b', 'c', 'd'].map((name) => [`${DIRECTORY}/apps/shop/${name}.yaml`, manifest(name)]),
);

describe('a remote that cannot be read as it was', () => {
  it('is read anew after its history was rewritten, which is said', async () => {
    using remote = new GitRemote();
    const before = remote.push(MANIFESTS);
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    remote.forgetHistory();
    const after = remote.push({ [`${DIRECTORY}/apps/shop/a.yaml`]: manifest('a', { version: '6.6.0' }) });
    git(remote.bare, 'reflog', 'expire', '--expire=now', '--all');
    git(remote.bare, 'gc', '--quiet', '--prune=now');
    run.tell();
    const set = await run.next();
    expect({ scope: set.scope, objects: set.objects.length, faults: set.faults }).toEqual({
      scope: 'complete',
      objects: 4,
      faults: [],
    });
    expect(run.rewrites).toEqual([
      `the history of main was rewritten from ${before.slice(0, 12)} to ${after.slice(0, 12)}; the new tree is read as it is and nothing is removed for it`,
    ]);
  });

  it('is a fault of its own that takes nothing away, told once, and passes by itself', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using run = new SourceRun(remote);
    run.tell({ branch: 'trunk' });
    const broken = await run.next();
    expect(broken).toEqual({
      scope: 'partial',
      objects: [],
      removals: [],
      faults: [
        {
          key: DIRECTORY,
          reason: 'SourceUnreachable',
          message: `${remote.url} has no branch trunk: fatal: couldn't find remote ref refs/heads/trunk. What is applied stays.`,
        },
      ],
    });
    git(remote.bare, 'branch', 'trunk', 'main');
    const mended = await run.nextInTime(5000);
    expect({ scope: mended.scope, objects: mended.objects.length }).toEqual({ scope: 'complete', objects: 4 });
  });

  it.each([
    [
      'ssh://host/repository',
      {},
      'the Git address is over ssh and no deploy key came with it; set one to read with at the control plane',
    ],
    [
      'ext::sh -c true',
      {},
      'the Git address is neither an http(s) URL nor one of ssh; correct it at the control plane',
    ],
    [
      '--upload-pack=touch',
      {},
      'the Git address is neither an http(s) URL nor one of ssh; correct it at the control plane',
    ],
    [
      'https://user:word@host/r.git',
      {},
      'the Git address holds a credential, which belongs into the credential field; correct it at the control plane',
    ],
    ['https://host/r.git', { branch: '--output=/x' }, 'the branch name "--output=/x" cannot be used'],
    ['https://host/r.git', { branch: 'a"\nb' }, 'the branch name "a\\"\\nb" cannot be used'],
    ['https://host/r.git', { path: 'clusters/../other' }, 'the directory "clusters/../other" cannot be used'],
    ['https://host/r.git', { path: '.git/hooks' }, 'the directory ".git/hooks" cannot be used'],
  ])('is refused before git sees it: %s %o', async (url, change, message) => {
    using remote = new GitRemote();
    await using run = new SourceRun(remote);
    run.update({ url, branch: 'main', path: DIRECTORY, desiredRevision: 'f'.repeat(40), ...change });
    const set = await run.next();
    expect(set.faults.map((fault) => fault.message)).toEqual([`${message}. What is applied stays.`]);
  });
});

describe('a Git host that asks for a credential', () => {
  const credential = { username: 'service', password: 'svcgit_very-secret' };
  const basic = `Basic ${Buffer.from('service:svcgit_very-secret').toString('base64')}`;

  it('gets it in a header, and it is in no file and no message', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using host = await GitHttp.start(remote.folder);
    await using run = new SourceRun(remote);
    run.tell({ url: host.url, credential });
    expect((await run.next()).objects).toHaveLength(4);
    expect(new Set(host.authorizations)).toEqual(new Set([basic]));
    for (const text of ['very-secret', basic.slice(6)]) {
      expect(() => execFileSync('grep', ['-r', '-l', text, run.stateDir], { stdio: 'pipe' })).toThrow(/Command failed/);
    }
  });

  it.each([404, 401])('is not taken for gone when it answers %i to a credential that was just made', async (status) => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using host = await GitHttp.start(remote.folder);
    let refusals = 3;
    host.refuse = (_, response) => {
      refusals -= 1;
      if (refusals < 0) return false;
      response.writeHead(status, status === 401 ? { 'www-authenticate': 'Basic realm="git"' } : {}).end('no');
      return true;
    };
    await using run = new SourceRun(remote);
    run.tell({ url: host.url, credential });
    const set = await run.nextInTime(1000);
    expect({ scope: set.scope, objects: set.objects.length, faults: set.faults }).toEqual({
      scope: 'complete',
      objects: 4,
      faults: [],
    });
  });

  it('is said to refuse it when that lasts', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using host = await GitHttp.start(remote.folder);
    host.refuse = (_, response) => {
      response.writeHead(404).end('no');
      return true;
    };
    await using run = new SourceRun(remote);
    run.tell({ url: host.url, credential });
    const set = await run.nextInTime(20_000);
    expect({ scope: set.scope, objects: set.objects }).toEqual({ scope: 'partial', objects: [] });
    expect(set.faults[0]?.message).toContain('does not take the read credential or does not show the repository to it');
    expect(JSON.stringify(set)).not.toContain('very-secret');
  });

  it('is trusted over TLS by the pinned authority only', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    const tls = createLoopbackCertificate();
    await using host = await GitHttp.start(remote.folder, tls);
    await using pinned = new SourceRun(remote);
    pinned.tell({ url: host.url, credential, caCertificate: tls.cert });
    expect((await pinned.next()).objects).toHaveLength(4);
    host.authorizations.length = 0;
    await using unpinned = new SourceRun(remote);
    unpinned.tell({ url: host.url, credential });
    expect((await unpinned.next()).faults[0]?.message).toMatch(/cannot be reached: .*certificate/);
    expect(host.authorizations).toEqual([]);
  });

  it('cannot send the credential elsewhere by a redirect', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using elsewhere = await GitHttp.start(remote.folder);
    await using host = await GitHttp.start(remote.folder);
    host.refuse = (request, response) => {
      response.writeHead(302, { location: elsewhere.url + (request.url ?? '').replace('/remote.git', '') }).end();
      return true;
    };
    await using run = new SourceRun(remote);
    run.tell({ url: host.url, credential });
    const set = await run.next();
    expect(set.faults[0]?.reason).toBe('SourceUnreachable');
    expect(elsewhere.authorizations).toEqual([]);
  });
});
