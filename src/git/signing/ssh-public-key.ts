import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { SshFormatError, SshReader, sshString } from './ssh-wire.ts';

/** How a key's signatures are verified, by what OpenSSH calls the key. */
export type SshKeyType =
  | 'ssh-ed25519'
  | 'ecdsa-sha2-nistp256'
  | 'ecdsa-sha2-nistp384'
  | 'ecdsa-sha2-nistp521'
  | 'ssh-rsa';

export interface SshPublicKey {
  readonly type: SshKeyType;
  /** What its base64 stands for; two keys are the same when this is. */
  readonly blob: Buffer;
  readonly key: KeyObject;
}

interface Curve {
  readonly name: string;
  readonly crv: string;
  readonly bytes: number;
}

/** RFC 5656; the size is that of a coordinate. */
export const CURVES: Readonly<Partial<Record<SshKeyType, Curve>>> = {
  'ecdsa-sha2-nistp256': { name: 'nistp256', crv: 'P-256', bytes: 32 },
  'ecdsa-sha2-nistp384': { name: 'nistp384', crv: 'P-384', bytes: 48 },
  'ecdsa-sha2-nistp521': { name: 'nistp521', crv: 'P-521', bytes: 66 },
};

const MIN_RSA_BITS = 2048;
/** Longer ones do not fit where public keys are kept, and take long to verify. */
const MAX_RSA_BITS = 4096;
const MAX_TEXT = 1024;

/** The line of a public key file: type, base64, and a comment that is not kept. @throws SshFormatError */
export function parseSshPublicKey(line: string): SshPublicKey {
  const [type, base64, ...comment] = line.trim().split(/[ \t]+/);
  if (line.length > MAX_TEXT || type === undefined || base64 === undefined || /[\r\n]/.test(line.trim())) {
    throw new SshFormatError('is not one line "<type> <base64>" of a public key file');
  }
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || comment.length > 20) {
    throw new SshFormatError('has no base64 after its type');
  }
  const key = readSshPublicKey(Buffer.from(base64, 'base64'));
  if (key.type !== type) throw new SshFormatError(`says ${type} and holds ${key.type}`);
  return key;
}

/** A public key as it is on the wire (RFC 4253, 5656, 8709). @throws SshFormatError */
export function readSshPublicKey(blob: Buffer): SshPublicKey {
  const reader = new SshReader(blob);
  const type = reader.text();
  const key = (jwk: Record<string, string>): KeyObject => {
    try {
      return createPublicKey({ key: jwk, format: 'jwk' });
    } catch (error) {
      throw new SshFormatError(`is no valid ${type} key`, { cause: error });
    }
  };
  if (type === 'ssh-ed25519') {
    const x = reader.string();
    reader.end();
    if (x.length !== 32) throw new SshFormatError('is no valid ssh-ed25519 key');
    return { type, blob, key: key({ kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }) };
  }
  if (type === 'ssh-rsa') {
    const e = reader.positiveInteger();
    const n = reader.positiveInteger();
    reader.end();
    const rsa = key({ kty: 'RSA', e: e.toString('base64url'), n: n.toString('base64url') });
    const bits = rsa.asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) {
      throw new SshFormatError(`is an RSA key of ${bits} bits; ${MIN_RSA_BITS} to ${MAX_RSA_BITS} are accepted`);
    }
    return { type, blob, key: rsa };
  }
  if (isEcdsa(type)) return { type, blob, key: key(readPoint(reader, type)) };
  throw new SshFormatError(
    `is of type ${type.slice(0, 64)}; ssh-ed25519, ecdsa-sha2-nistp256, -nistp384, -nistp521 and ssh-rsa are accepted`,
  );
}

/** `SHA256:…` as `ssh-keygen -l` prints it. */
export function fingerprintOf(key: Pick<SshPublicKey, 'blob'>): string {
  return `SHA256:${hash('sha256', key.blob, 'base64').replace(/=+$/, '')}`;
}

/** `<type> <base64>`, without a comment. */
export function sshPublicKeyLine(key: Pick<SshPublicKey, 'type' | 'blob'>): string {
  return `${key.type} ${key.blob.toString('base64')}`;
}

/** The public half of an Ed25519 key. @throws Error for another kind of key */
export function sshKeyOfEd25519(key: KeyObject): SshPublicKey {
  const { x, crv } = key.export({ format: 'jwk' });
  if (crv !== 'Ed25519' || x === undefined) throw new Error('the key is not an Ed25519 key');
  const blob = Buffer.concat([sshString('ssh-ed25519'), sshString(Buffer.from(x, 'base64url'))]);
  return readSshPublicKey(blob);
}

function isEcdsa(type: string): type is SshKeyType {
  return Object.hasOwn(CURVES, type);
}

function readPoint(reader: SshReader, type: SshKeyType): Record<string, string> {
  const curve = CURVES[type];
  const name = reader.text();
  const point = reader.string();
  reader.end();
  // SEC 1, 2.3.3: an uncompressed point, the only form that OpenSSH writes.
  if (curve === undefined || name !== curve.name || point.length !== 1 + 2 * curve.bytes || point[0] !== 4) {
    throw new SshFormatError(`is no valid ${type} key`);
  }
  const x = point.subarray(1, 1 + curve.bytes).toString('base64url');
  const y = point.subarray(1 + curve.bytes).toString('base64url');
  return { kty: 'EC', crv: curve.crv, x, y };
}
