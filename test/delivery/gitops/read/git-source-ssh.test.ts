import { readdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLoopbackCertificate } from '../../../../src/sandbox/loopback-certificate.ts';
import { SshServer } from '../../../git/remote/ssh-server.ts';
import { GitHttp } from './git-http.ts';
import { GitRemote, manifest } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';
const MANIFESTS = Object.fromEntries(
  ['a', 'b', 'c'].map((name) => [`${DIRECTORY}/apps/shop/${name}.yaml`, manifest(name)]),
);

let server: SshServer;

beforeAll(async () => {
  server = await SshServer.start();
}, 90_000);
afterAll(async () => await server[Symbol.asyncDispose]());

async function deployKey(name: string) {
  const { privateKey, knownHosts } = await server.newKey(name, 'read');
  return { username: 'git', password: '', ssh_private_key: privateKey.expose(), ssh_known_hosts: knownHosts };
}

const urlOf = (remote: GitRemote): string => `ssh://${userInfo().username}@127.0.0.1:${server.port}${remote.bare}`;

/** Folders with keys of this process. */
function keyFolders(): string[] {
  return readdirSync('/dev/shm').filter((name) => name.startsWith(`service-git-${process.pid}-`));
}

describe('a source over ssh', () => {
  it('is read with a deploy key, which is gone with the source and stands in no file of the copy', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    const credential = await deployKey('operator');
    const run = new SourceRun(remote);
    run.tell({ url: urlOf(remote), credential });
    expect((await run.next()).objects).toHaveLength(3);
    remote.push({ [`${DIRECTORY}/apps/shop/a.yaml`]: manifest('a', { version: '6.6.0' }) });
    run.tell({ url: urlOf(remote), credential });
    expect((await run.next()).objects).toHaveLength(3);
    const line = credential.ssh_private_key.split('\n')[2] ?? 'nothing';
    const files = readdirSync(run.stateDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.filter((file) => readFileSync(join(file.parentPath, file.name)).includes(line))).toEqual([]);
    expect(keyFolders()).toHaveLength(1);
    await run[Symbol.asyncDispose]();
    expect(keyFolders()).toEqual([]);
  });

  it('is read on with a new key after the one before was withdrawn', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    const withdrawn = await deployKey('withdrawn');
    const next = await deployKey('next');
    await using run = new SourceRun(remote);
    run.tell({ url: urlOf(remote), credential: withdrawn });
    await run.next();
    server.withdraw('withdrawn');
    remote.push({ [`${DIRECTORY}/apps/shop/a.yaml`]: manifest('a', { version: '6.6.0' }) });
    run.tell({ url: urlOf(remote), credential: withdrawn });
    const refused = await run.nextInTime(5000);
    expect(refused.faults[0]?.message).toMatch(/Permission denied \(publickey\)/);
    run.tell({ url: urlOf(remote), credential: next });
    expect((await run.nextInTime(5000)).objects).toHaveLength(3);
  });

  it('is not believed under another host key', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    const credential = await deployKey('other');
    const foreign = readFileSync(join(server.folder, 'key_other.pub'), 'utf8');
    await using run = new SourceRun(remote);
    run.tell({ url: urlOf(remote), credential: { ...credential, ssh_known_hosts: server.knownHosts(foreign) } });
    expect((await run.next()).faults[0]?.message).toMatch(/host key|Host key verification failed/);
  });
});

describe('the roots of a Git host', () => {
  it('are those that the control plane says now, not those that it said first', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    const [old, now] = [createLoopbackCertificate(), createLoopbackCertificate()];
    await using host = await GitHttp.start(remote.folder, now);
    await using run = new SourceRun(remote);
    run.tell({ url: host.url, caCertificate: old.cert });
    expect((await run.next()).faults[0]?.message).toMatch(/certificate/);
    run.tell({ url: host.url, caCertificate: now.cert });
    expect((await run.nextInTime(5000)).objects).toHaveLength(3);
  });
});
