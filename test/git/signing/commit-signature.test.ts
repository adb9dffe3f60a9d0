import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { commitObject, signedCommit } from '../../../src/git/commit-object.ts';
import { EMPTY_TREE_ID, objectId } from '../../../src/git/git-object.ts';
import { partSignedCommit, trustedSigners, verifyCommit } from '../../../src/git/signing/commit-signature.ts';
import { sshKeyOfEd25519, sshPublicKeyLine } from '../../../src/git/signing/ssh-public-key.ts';
import { signForGit } from '../../../src/git/signing/ssh-signature.ts';
import { git } from '../git-server.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const publicLine = sshPublicKeyLine(sshKeyOfEd25519(privateKey));
const signers = trustedSigners([{ principal: 'cp@example.com', public_key: publicLine }]);
const unsigned = commitObject({
  tree: EMPTY_TREE_ID,
  parent: undefined,
  identity: { name: 'Jürgen', email: 'j@example.com' },
  at: new Date('2026-01-01T00:00:00Z'),
  message: 'Grüße\n\ngpgsig in the message is text\n',
});
const sign = async (payload: Buffer): Promise<string> => signForGit(payload, privateKey);

it('trusts what an allowed signer signed, and gives the same commit for the same content', async () => {
  const commit = await signedCommit(unsigned, sign);
  expect(verifyCommit(commit.bytes, signers)).toEqual({ state: 'trusted', signer: signers[0] });
  expect(partSignedCommit(commit.bytes)?.payload).toEqual(unsigned.bytes);
  expect((await signedCommit(unsigned, sign)).id).toBe(commit.id);
  expect(commit.id).toBe(objectId('commit', commit.bytes));
});

it('trusts no byte of a commit that was changed', async () => {
  const { bytes } = await signedCommit(unsigned, sign);
  for (let at = 0; at < bytes.length; at += 1) {
    const altered = Buffer.from(bytes);
    altered.writeUInt8(altered.readUInt8(at) ^ 1, at);
    // The base64 of a signature may say the same in two ways; then nothing that was signed is different.
    const parts = partSignedCommit(altered);
    if (parts?.payload.equals(unsigned.bytes) === true) continue;
    expect(verifyCommit(altered, signers).state).toBe('refused');
  }
});

it.each([
  ['nobody signed', unsigned.bytes, 'is not signed'],
  ['has PGP', withHeader('gpgsig -----BEGIN PGP SIGNATURE-----\n x\n'), 'signed by something else than SSH'],
  ['has no signature in its header', withHeader('gpgsig -----BEGIN SSH SIGNATURE-----\n'), 'cannot be read'],
  ['has no message', Buffer.from('tree x\n'), 'is not signed'],
])('says why it refuses a commit that %s', (_name, bytes, why) => {
  expect(verifyCommit(bytes, signers)).toEqual({ state: 'refused', why: expect.stringContaining(why) });
});

it('takes a commit with two signatures for unsigned', async () => {
  const { bytes } = await signedCommit(unsigned, sign);
  const twice = Buffer.from(bytes.toString('latin1').replace('gpgsig ', 'gpgsig x\ngpgsig '), 'latin1');
  expect(verifyCommit(twice, signers)).toEqual({ state: 'refused', why: 'is not signed' });
  const other = Buffer.from(bytes.toString('latin1').replace('gpgsig ', 'gpgsig-sha256 x\ngpgsig '), 'latin1');
  expect(verifyCommit(other, signers)).toEqual({ state: 'refused', why: 'is not signed' });
});

it('names the key of somebody who is not allowed', async () => {
  const { bytes } = await signedCommit(unsigned, sign);
  const others = trustedSigners([
    {
      principal: 'other@example.com',
      public_key: sshPublicKeyLine(sshKeyOfEd25519(generateKeyPairSync('ed25519').privateKey)),
    },
    { principal: 'nobody@example.com', public_key: 'not a key' },
  ]);
  expect(others).toHaveLength(1);
  expect(verifyCommit(bytes, others)).toEqual({
    state: 'refused',
    why: expect.stringMatching(/^is signed by the key SHA256:\S+, which is not among the allowed signers$/),
  });
});

it('is accepted by git verify-commit and git fsck --strict; a flipped byte is not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signed-commit-'));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  await git(folder, ['init', '--quiet', '--bare', 'x.git']);
  const repository = join(folder, 'x.git');
  await writeFile(join(folder, 'allowed'), `cp@example.com namespaces="git" ${publicLine}\n`);
  await git(repository, ['config', 'gpg.ssh.allowedSignersFile', join(folder, 'allowed')]);
  await git(repository, ['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' });
  const commit = await signedCommit(unsigned, sign);
  const store = async (bytes: Buffer): Promise<string> =>
    (await git(repository, ['hash-object', '-w', '-t', 'commit', '--stdin'], { input: bytes.toString('utf8') })).trim();
  expect(await store(commit.bytes)).toBe(commit.id);
  await git(repository, ['verify-commit', commit.id]);
  await git(repository, ['update-ref', 'refs/heads/main', commit.id]);
  expect(await git(repository, ['log', '--format=%G? %GS', 'main'])).toBe('G cp@example.com');
  await git(repository, ['fsck', '--strict', '--no-dangling']);
  const flipped = await store(Buffer.from(commit.bytes.toString('utf8').replace('Grüße', 'Grüsse')));
  await expect(git(repository, ['verify-commit', flipped])).rejects.toThrow('verify-commit');
});

function withHeader(header: string): Buffer {
  return Buffer.from(unsigned.bytes.toString('latin1').replace('\n\n', `\n${header}\n`), 'latin1');
}
