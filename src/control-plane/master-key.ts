import { hkdfSync } from 'node:crypto';
import { closeSync, fsyncSync, fstatSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { Secret } from '../runtime/secret.ts';

const KEY_BYTES = 32;
const ALG = 'dir';
const ENC = 'A256GCM';

/** Encrypts what the database holds of keys and credentials. Losing it means registering every cluster anew. */
export interface MasterKey {
  /**
   * Compact JWE (`dir`, A256GCM). `context` says what and whose the text is (`signing-key/<cluster id>`); it stands in the
   * protected header, so a value that is copied to another place does not open there.
   */
  seal(text: string, context: string): Promise<string>;
  /** @throws Error when the value was altered, sealed for another context, or sealed under another master key */
  open(sealed: string, context: string): Promise<Secret>;
  /** A key of its own for another purpose (HKDF-SHA-256, 32 bytes): the same for the same purpose, unrelated to others. */
  derive(purpose: string): Uint8Array;
}

/**
 * Reads the key file, or makes it when there is none: 32 random bytes in base64url, mode 0600.
 *
 * @throws Error with one line that says what to do when the file can be read by others or does not hold a key
 */
export function openMasterKey(deps: {
  readonly file: string;
  readonly randomBytes: (n: number) => Uint8Array;
}): MasterKey {
  const key = readKey(deps.file) ?? createKey(deps.file, deps.randomBytes);
  return {
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', key, 'service-master-key', purpose, KEY_BYTES)),
    seal: async (text, context) =>
      await new CompactEncrypt(Buffer.from(text, 'utf8'))
        .setProtectedHeader({ alg: ALG, enc: ENC, context })
        .encrypt(key),
    open: async (sealed, context) => {
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(sealed, key, {
          keyManagementAlgorithms: [ALG],
          contentEncryptionAlgorithms: [ENC],
        });
        if (protectedHeader['context'] === context) return new Secret(Buffer.from(plaintext).toString('utf8'));
      } catch (error) {
        throw new Error(
          `the stored secret ${context} does not open: SERVICE_MASTER_KEY_FILE is not the one it was sealed with, or the database was altered`,
          { cause: error },
        );
      }
      throw new Error(`the stored secret ${context} was sealed for another place: the database was altered`);
    },
  };
}

function readKey(file: string): Uint8Array | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`the master key ${file} cannot be read`, { cause: error });
  }
  try {
    const { mode } = fstatSync(descriptor);
    if ((mode & 0o077) !== 0) {
      throw new Error(
        `the master key ${file} can be read by others (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${file}`,
      );
    }
    const text = readFileSync(descriptor, 'utf8').trim();
    const key = Buffer.from(text, 'base64url');
    if (key.length !== KEY_BYTES || key.toString('base64url') !== text) {
      throw new Error(
        `the master key ${file} does not hold ${KEY_BYTES} bytes in base64url; restore it from your backup of it`,
      );
    }
    return new Uint8Array(key);
  } finally {
    closeSync(descriptor);
  }
}

/** Written whole and linked into place, so that a crash leaves no half a key, and of two processes one key wins. */
function createKey(file: string, randomBytes: (n: number) => Uint8Array): Uint8Array {
  const draft = `${file}.${Buffer.from(randomBytes(6)).toString('hex')}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, `${Buffer.from(randomBytes(KEY_BYTES)).toString('base64url')}\n`);
    fsyncSync(descriptor);
    linkSync(draft, file);
    fsyncDirectory(dirname(file));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    closeSync(descriptor);
    rmSync(draft, { force: true });
  }
  const key = readKey(file);
  if (key === undefined) throw new Error(`the master key ${file} vanished while it was made`);
  return key;
}

function fsyncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
