import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitObject } from '../../../src/git/commit-object.ts';
import type { SshCredential } from '../../../src/git/git-credential.ts';
import { EMPTY_TREE_ID, type NewObject, ZERO_ID } from '../../../src/git/git-object.ts';
import { Mirror } from '../../../src/git/mirror.ts';
import { writePack } from '../../../src/git/pack.ts';
import { SshRemote } from '../../../src/git/remote/ssh-remote.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { SshServer } from './ssh-server.ts';

const NEVER = new AbortController().signal;
const REF = 'refs/heads/main';
const WHO = { name: 'A Writer', email: 'writer@example.test' };

let server: SshServer;
let writer: SshCredential;
let reader: SshCredential;

beforeAll(async () => {
  server = await SshServer.start();
  writer = await server.newKey('writer');
  reader = await server.newKey('reader', 'read');
}, 90_000);
afterAll(async () => await server[Symbol.asyncDispose]());

function commit(message: string, parent?: string): NewObject {
  const at = new Date('2026-11-28T12:00:00Z');
  return commitObject({ tree: EMPTY_TREE_ID, parent, identity: WHO, at, message });
}

async function push(remote: SshRemote, oldId: string | undefined, next: NewObject, key = writer) {
  const pack = await writePack([next, EMPTY_TREE], { thin: true });
  return await remote.push({ ref: REF, oldId, newId: next.id, pack, capabilities: new Set() }, key, NEVER);
}

const EMPTY_TREE: NewObject = { id: EMPTY_TREE_ID, type: 'tree', bytes: Buffer.alloc(0) };

/** Folders that a key lies in now. */
function keyFolders(): string[] {
  return readdirSync('/dev/shm').filter((name) => name.startsWith(`service-git-${process.pid}-`));
}

describe('a repository over ssh', () => {
  it('is written by compare-and-swap, and read back by native git', async () => {
    const { url, path } = await server.newRepository('written.git');
    const remote = new SshRemote({ url });
    const first = commit('first\n');
    const second = commit('second\n', first.id);
    expect(await push(remote, undefined, first)).toEqual({ state: 'ok', value: undefined });
    expect(await push(remote, first.id, second)).toEqual({ state: 'ok', value: undefined });
    expect(await push(remote, first.id, commit('late\n', first.id))).toMatchObject({ rejection: 'moved' });
    expect(execFileSync('git', ['-C', path, 'rev-parse', REF], { encoding: 'utf8' }).trim()).toBe(second.id);
    execFileSync('git', ['-C', path, 'fsck', '--strict'], { stdio: 'pipe' });
    const aside = { ref: 'refs/heads/proposals/one', capabilities: new Set<string>() };
    const made = { ...aside, oldId: undefined, newId: first.id, pack: await writePack([], { thin: true }) };
    expect((await remote.push(made, writer, NEVER)).state).toBe('ok');
    const gone = { ...aside, oldId: first.id, newId: ZERO_ID, pack: Buffer.alloc(0) };
    expect(await remote.push({ ...gone, oldId: second.id }, writer, NEVER)).toMatchObject({ rejection: 'moved' });
    expect(await remote.push(gone, writer, NEVER)).toEqual({ state: 'ok', value: undefined });
    const advertised = await remote.advertise(writer, NEVER);
    expect(advertised.state === 'ok' && [...advertised.value.refs.keys()]).toEqual([REF]);
    expect(advertised.state === 'ok' && advertised.value.refs.get(REF)).toBe(second.id);

    await using mirror = new Mirror({
      path: join(server.folder, 'mirror.git'),
      url,
      branch: 'main',
      remote,
      logger: pino({ level: 'silent' }),
    });
    expect(await mirror.fetch(writer, NEVER)).toEqual({ state: 'ok', tip: second.id });
    expect(readFileSync(join(server.folder, 'mirror.git', 'config'), 'utf8')).not.toMatch(/ssh|url|key/i);
    expect(keyFolders()).toEqual([]);
  });

  it('says that a key may only read, and that a host takes another key or none', async () => {
    const { url } = await server.newRepository('refused.git');
    const remote = new SshRemote({ url });
    expect(await remote.advertise(reader, NEVER)).toMatchObject({
      rejection: 'auth',
      message: expect.stringContaining('the deploy key may not write: ERROR: The key you are authenticating with'),
    });
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(server.folder, 'stranger')]);
    const stranger = new Secret(readFileSync(join(server.folder, 'stranger'), 'utf8'));
    expect(await remote.advertise({ ...writer, privateKey: stranger }, NEVER)).toMatchObject({
      rejection: 'auth',
      message: expect.stringContaining('the host does not take the deploy key'),
    });
    const broken = new Secret('-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n');
    expect(await remote.advertise({ ...writer, privateKey: broken }, NEVER)).toMatchObject({ rejection: 'auth' });
    expect(keyFolders()).toEqual([]);
  });

  it('is not talked to where its key is not among the known ones', async () => {
    const { url, path } = await server.newRepository('unknown.git');
    const remote = new SshRemote({ url });
    const other = readFileSync(join(server.folder, 'key_writer.pub'), 'utf8');
    for (const knownHosts of [server.knownHosts(other), 'example.com ssh-ed25519 AAAA\n']) {
      expect(await push(remote, undefined, commit('x\n'), { ...writer, knownHosts })).toMatchObject({
        rejection: 'unavailable',
        message: expect.stringContaining('the host shows a key that is not among knownHosts'),
      });
    }
    expect(execFileSync('git', ['-C', path, 'for-each-ref'], { encoding: 'utf8' })).toBe('');
  });

  it('names a repository that is not there, and a host that does not listen', async () => {
    const { url } = await server.newRepository('there.git');
    const missing = new SshRemote({ url: url.replace('there.git', 'gone.git') });
    expect(await missing.advertise(writer, NEVER)).toMatchObject({
      rejection: 'auth',
      message: expect.stringContaining('the host shows no such repository to the deploy key'),
    });
    const deaf = new SshRemote({ url: 'ssh://git@127.0.0.1:1/there.git' });
    expect(await deaf.advertise(writer, NEVER)).toMatchObject({
      rejection: 'unavailable',
      message: expect.stringContaining('the host cannot be reached'),
    });
  });

  it('goes to the address that was looked at, and nowhere where that is refused', async () => {
    const { url } = await server.newRepository('pinned.git');
    const named = url.replace('127.0.0.1', 'git.example.test');
    const known = { ...writer, knownHosts: server.knownHosts().replace('127.0.0.1', 'git.example.test') };
    const asked: string[] = [];
    const resolve = async (name: string): Promise<string> => {
      asked.push(name);
      return '127.0.0.1';
    };
    const remote = new SshRemote({ url: named, link: { resolve } });
    expect((await remote.advertise(known, NEVER)).state).toBe('ok');
    expect(asked).toEqual(['git.example.test']);
    const refusing = async () => await Promise.reject(new Error('the name resolves to an address outside'));
    const refused = new SshRemote({ url: named, link: { resolve: refusing } });
    expect(await refused.advertise(known, NEVER)).toMatchObject({ rejection: 'unavailable' });
  });
});
