import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { fingerprintOf, sshKeyOfEd25519, sshPublicKeyLine } from '../../src/git/signing/ssh-public-key.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';

const key = sshKeyOfEd25519(generateKeyPairSync('ed25519').publicKey);

let plane: RunningControlPlane;
let env: Record<string, string>;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  writeFileSync(join(plane.folder, 'token'), plane.token);
  writeFileSync(join(plane.folder, 'anna.pub'), `${sshPublicKeyLine(key)} anna@laptop\n`);
  writeFileSync(join(plane.folder, 'anna'), '-----BEGIN OPENSSH PRIVATE KEY-----\n');
  env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
  await plane.newCluster('eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function run(line: string): Promise<string> {
  let out = '';
  const deps = { env, out: (text: string) => void (out += text), err: (text: string) => void (out += `! ${text}`) };
  const code = await servicectl(line.split(' '), deps);
  return code === 0 ? out : `${code} ${out}`;
}

const states = async (): Promise<string[]> =>
  (await run('commit-signing-keys list'))
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split(/ {2,}/).slice(1, 3).join(' '));

describe('servicectl commit-signing-keys', () => {
  it('lists the key that signs, rotates it, and prints the file of allowed signers', async () => {
    expect(await states()).toEqual(['current service-control-plane@localhost']);
    expect(await run('commit-signing-keys rotate')).toMatch(/^commits are signed with SHA256:\S+ from now on\n$/);
    expect((await states()).map((line) => line.split(' ')[0])).toEqual(['current', 'retired']);
    const file = await run('commit-signing-keys allowed-signers');
    expect(file).toMatch(/^(service-control-plane@localhost namespaces="git" ssh-ed25519 \S+\n){2}$/);
  });

  it('adds the key of a person, never a private one, and revokes it only with --yes', async () => {
    const path = join(plane.folder, 'anna');
    expect(await run(`commit-signing-keys add anna@example.com ${path}`)).toBe(
      `2 ! servicectl: ${path} is a private key; it was not sent\nName the public one: ${path}.pub\n`,
    );
    expect(await run(`commit-signing-keys add anna@example.com ${path}.none`)).toMatch(/^2 ! .* cannot be read/);
    const added = await run(`commit-signing-keys add anna@example.com ${path}.pub`);
    const [, id] = /\((csk_?-?\S+)\)\n$/.exec(added) ?? [];
    expect(added).toBe(`commits that anna@example.com signs with ${fingerprintOf(key)} count (${id})\n`);
    expect(await states()).toContain('added anna@example.com');
    expect(await run(`commit-signing-keys revoke ${id}`)).toMatch(/^2 ! servicectl: nothing was done\. This lets no/);
    const revoke = `commit-signing-keys revoke ${id} --reason lost --trust-present --yes`;
    expect(await run(revoke)).toBe(`commits signed with ${fingerprintOf(key)} no longer count\n`);
    expect(await states()).toContain('revoked anna@example.com');
    expect(JSON.parse(await run('commit-signing-keys list -o json')).items).toContainEqual(
      expect.objectContaining({ id, revokedReason: 'lost' }),
    );
  });

  it('vouches for a revision of a cluster, once it is meant', async () => {
    const revision = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
    const command = `commit-signing-keys vouch eu ${revision}`;
    expect(await run(command)).toMatch(/^2 ! servicectl: nothing was done\. This lets eu apply/);
    expect(await run(`${command} --yes`)).toBe(`eu: revision ${revision} is trusted\n`);
    expect((await plane.call('GET', '/clusters/eu')).body['trustedRevision']).toBe(revision);
    expect(await run('commit-signing-keys vouch eu main --yes')).toMatch(/^1 ! /);
    await plane.newCluster('away', { connectivityMode: 'pull' });
    expect(await run(`commit-signing-keys vouch away ${revision} --yes`)).toMatch(/does not read from Git/);
  });
});
