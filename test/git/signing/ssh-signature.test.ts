import { execFile } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  fingerprintOf,
  parseSshPublicKey,
  sshKeyOfEd25519,
  sshPublicKeyLine,
} from '../../../src/git/signing/ssh-public-key.ts';
import { parseSshSignature, signForGit, verifiesForGit } from '../../../src/git/signing/ssh-signature.ts';
import { readVectors } from '../../vectors/read-vectors.ts';

interface Vectors {
  readonly message: string;
  readonly ed25519PrivateJwk: JsonWebKey;
  readonly vectors: readonly {
    readonly name: string;
    readonly publicKey: string;
    readonly fingerprint: string;
    readonly signature: string;
    readonly valid: boolean;
  }[];
  readonly tooSmall: { readonly publicKey: string };
}

const { message, ed25519PrivateJwk, vectors, tooSmall } = readVectors<Vectors>('ssh-signature');
const bytes = Buffer.from(message, 'utf8');

it.each(vectors)('judges what ssh-keygen signed: $name', ({ publicKey, fingerprint, signature, valid }) => {
  const parsed = parseSshSignature(signature);
  const key = parseSshPublicKey(publicKey);
  expect(parsed.key.blob).toEqual(key.blob);
  expect(fingerprintOf(key)).toBe(fingerprint);
  expect(sshPublicKeyLine(key)).toBe(publicKey);
  expect(verifiesForGit(parsed, bytes)).toBe(valid);
  const altered = Buffer.from(bytes);
  altered.writeUInt8(altered.readUInt8(40) ^ 1, 40);
  expect(verifiesForGit(parsed, altered)).toBe(false);
});

it.each(vectors.filter(({ valid }) => valid))('takes no altered signature: $name', ({ signature }) => {
  const parsed = parseSshSignature(signature);
  for (let at = 0; at < parsed.bytes.length; at += 7) {
    const altered = Buffer.from(parsed.bytes);
    altered.writeUInt8(altered.readUInt8(at) ^ 0x10, at);
    expect(verifiesForGit({ ...parsed, bytes: altered }, bytes)).toBe(false);
  }
  expect(verifiesForGit({ ...parsed, namespace: 'file' }, bytes)).toBe(false);
  expect(verifiesForGit({ ...parsed, reserved: Buffer.from('x') }, bytes)).toBe(false);
  expect(verifiesForGit({ ...parsed, algorithm: 'ssh-rsa' }, bytes)).toBe(false);
  expect(verifiesForGit({ ...parsed, algorithm: 'constructor' }, bytes)).toBe(false);
});

it('signs with Ed25519 exactly as ssh-keygen does', () => {
  const key = createPrivateKey({ key: ed25519PrivateJwk, format: 'jwk' });
  expect(signForGit(bytes, key)).toBe(vectors[0]?.signature);
});

it('is verified by ssh-keygen', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sshsig-'));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const { privateKey } = generateKeyPairSync('ed25519');
  const line = sshPublicKeyLine(sshKeyOfEd25519(privateKey));
  await writeFile(join(folder, 'allowed'), `someone@example.com namespaces="git" ${line}\n`);
  await writeFile(join(folder, 'sig'), signForGit(bytes, privateKey));
  const args = ['-Y', 'verify', '-f', 'allowed', '-I', 'someone@example.com', '-n', 'git', '-s', 'sig'];
  const verify = async (input: Buffer): Promise<string> =>
    await new Promise((resolve) => {
      const child = execFile('ssh-keygen', args, { cwd: folder, timeout: 20_000 }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      );
      child.stdin?.end(input);
    });
  expect(await verify(bytes)).toContain('Good "git" signature for someone@example.com with ED25519 key SHA256:');
  expect(await verify(Buffer.concat([bytes, Buffer.from('.')]))).toContain('Signature verification failed');
});

it.each([
  ['', 'is not between'],
  ['-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n', 'is not between'],
  ['-----BEGIN SSH SIGNATURE-----\n!\n-----END SSH SIGNATURE-----\n', 'is not base64'],
  ['-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n', 'it ends early'],
  ['-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAgAA\n-----END SSH SIGNATURE-----\n', 'not an SSHSIG of version 1'],
  [`-----BEGIN SSH SIGNATURE-----\n${'A'.repeat(9000)}\n-----END SSH SIGNATURE-----\n`, 'is not between'],
])('says what is wrong with a signature that is none: %s', (armored, why) => {
  expect(() => parseSshSignature(armored)).toThrow(why);
});

it.each([
  [tooSmall.publicKey, 'an RSA key of 1024 bits; 2048 to 4096 are accepted'],
  ['ssh-ed25519', 'is not one line'],
  ['ssh-ed25519 AAAA AAAA\nssh-ed25519 AAAA', 'is not one line'],
  ['ssh-ed25519 %%%', 'has no base64'],
  [vectors[0]?.publicKey.replace('ssh-ed25519', 'ssh-rsa') ?? '', 'says ssh-rsa and holds ssh-ed25519'],
  [`${vectors[0]?.publicKey ?? ''}AAAA`, 'there is more in it than belongs there'],
  ['sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t', 'is of type sk-ssh-ed25519@openssh.com'],
])('says what is wrong with a public key that does not count: %s', (line, why) => {
  expect(() => parseSshPublicKey(line)).toThrow(why);
});
