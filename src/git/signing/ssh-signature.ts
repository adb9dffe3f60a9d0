import { hash, sign, verify, type KeyObject } from 'node:crypto';
import { CURVES, readSshPublicKey, sshKeyOfEd25519, type SshPublicKey } from './ssh-public-key.ts';
import { SshFormatError, SshReader, sshString } from './ssh-wire.ts';

/** What Git signs commits and tags for. A signature made for something else says nothing about a commit. */
export const GIT_NAMESPACE = 'git';

const MAGIC = Buffer.from('SSHSIG', 'latin1');
const VERSION = 1;
const BEGIN = '-----BEGIN SSH SIGNATURE-----';
const END = '-----END SSH SIGNATURE-----';
/** Of base64, as ssh-keygen breaks them. */
const LINE = 70;
/** One by the largest key that counts takes about 1,700. */
const MAX_ARMORED = 8192;

/** Which key and digest each algorithm that a signature may name stands for. */
const VERIFIERS: Readonly<Record<string, { readonly type: SshPublicKey['type']; readonly digest: string | null }>> = {
  'ssh-ed25519': { type: 'ssh-ed25519', digest: null },
  'ecdsa-sha2-nistp256': { type: 'ecdsa-sha2-nistp256', digest: 'sha256' },
  'ecdsa-sha2-nistp384': { type: 'ecdsa-sha2-nistp384', digest: 'sha384' },
  'ecdsa-sha2-nistp521': { type: 'ecdsa-sha2-nistp521', digest: 'sha512' },
  // `ssh-rsa`, which is SHA-1, is not there: PROTOCOL.sshsig forbids it.
  'rsa-sha2-256': { type: 'ssh-rsa', digest: 'sha256' },
  'rsa-sha2-512': { type: 'ssh-rsa', digest: 'sha512' },
};

/** A signature (PROTOCOL.sshsig of OpenSSH), taken apart and not verified. */
export interface SshSignature {
  readonly key: SshPublicKey;
  readonly namespace: string;
  readonly reserved: Buffer;
  readonly hash: 'sha256' | 'sha512';
  /** `rsa-sha2-512` and the like. */
  readonly algorithm: string;
  readonly bytes: Buffer;
}

/** Signs as `ssh-keygen -Y sign -n git` does, with an Ed25519 key: the same signature for the same message. */
export function signForGit(message: Buffer, privateKey: KeyObject, publicKey = sshKeyOfEd25519(privateKey)): string {
  const signed = toBeSigned({ namespace: GIT_NAMESPACE, reserved: Buffer.alloc(0), hash: 'sha512' }, message);
  const version = Buffer.alloc(4);
  version.writeUInt32BE(VERSION);
  const blob = Buffer.concat([
    MAGIC,
    version,
    sshString(publicKey.blob),
    sshString(GIT_NAMESPACE),
    sshString(''),
    sshString('sha512'),
    sshString(Buffer.concat([sshString('ssh-ed25519'), sshString(sign(null, signed, privateKey))])),
  ]);
  const lines = blob.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return [BEGIN, ...lines, END, ''].join('\n');
}

/** @throws SshFormatError when it is not an SSH signature of this kind */
export function parseSshSignature(armored: string): SshSignature {
  const lines = armored
    .slice(0, MAX_ARMORED + 1)
    .trimEnd()
    .split('\n');
  const base64 = lines.slice(1, -1).join('');
  if (armored.length > MAX_ARMORED || lines[0] !== BEGIN || lines.at(-1) !== END) {
    throw new SshFormatError(`is not between "${BEGIN}" and "${END}"`);
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new SshFormatError('is not base64');
  const reader = new SshReader(Buffer.from(base64, 'base64'));
  if (!reader.take(MAGIC.length).equals(MAGIC) || reader.uint32() !== VERSION) {
    throw new SshFormatError('is not an SSHSIG of version 1');
  }
  const key = readSshPublicKey(reader.string());
  const namespace = reader.text();
  const reserved = reader.string();
  const algorithmOfHash = reader.text();
  const inner = new SshReader(reader.string());
  reader.end();
  const algorithm = inner.text();
  const bytes = inner.string();
  inner.end();
  if (algorithmOfHash !== 'sha256' && algorithmOfHash !== 'sha512') {
    throw new SshFormatError(`hashes by ${algorithmOfHash.slice(0, 64)}; sha256 and sha512 are accepted`);
  }
  return { key, namespace, reserved, hash: algorithmOfHash, algorithm, bytes };
}

/** Whether the key that a signature names made it, of exactly this message, for Git. Says nothing of whose key that is. */
export function verifiesForGit(signature: SshSignature, message: Buffer): boolean {
  const verifier = Object.hasOwn(VERIFIERS, signature.algorithm) ? VERIFIERS[signature.algorithm] : undefined;
  if (signature.namespace !== GIT_NAMESPACE || verifier?.type !== signature.key.type) return false;
  const signed = toBeSigned(signature, message);
  const curve = CURVES[signature.key.type];
  if (curve === undefined) return verify(verifier.digest, signed, signature.key.key, signature.bytes);
  const point = fixedWidth(signature.bytes, curve.bytes);
  if (point === undefined) return false;
  return verify(verifier.digest, signed, { key: signature.key.key, dsaEncoding: 'ieee-p1363' }, point);
}

function toBeSigned(parts: Pick<SshSignature, 'namespace' | 'reserved' | 'hash'>, message: Buffer): Buffer {
  return Buffer.concat([
    MAGIC,
    sshString(parts.namespace),
    sshString(parts.reserved),
    sshString(parts.hash),
    sshString(hash(parts.hash, message, 'buffer')),
  ]);
}

/** The two numbers of an ECDSA signature (RFC 5656, 3.1.2), each as wide as a coordinate. */
function fixedWidth(bytes: Buffer, width: number): Buffer | undefined {
  try {
    const reader = new SshReader(bytes);
    const numbers = [reader.positiveInteger(), reader.positiveInteger()];
    reader.end();
    if (numbers.some(({ length }) => length > width)) return undefined;
    return Buffer.concat(numbers.flatMap((number) => [Buffer.alloc(width - number.length), number]));
  } catch (error) {
    if (error instanceof SshFormatError) return undefined;
    throw error;
  }
}
