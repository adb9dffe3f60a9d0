import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { Secret } from '../runtime/secret.ts';
import { CliError, EXIT } from './cli-error.ts';

/** Writes the private half of a recovery key where nothing is yet, readable by its owner alone. @throws CliError */
export function writeRecoveryKey(file: string, privateJwk: Secret): void {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    const next = 'Name another file with --out; a key that is there is never overwritten';
    throw new CliError(EXIT.usage, `the file ${file} cannot be made (${codeOf(error)})`, next, { cause: error });
  }
  try {
    writeSync(descriptor, `${privateJwk.expose()}\n`);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(file, { force: true });
    throw new CliError(EXIT.failed, `the file ${file} cannot be written (${codeOf(error)})`, undefined, {
      cause: error,
    });
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a private recovery key. No message quotes what is in the file. @throws CliError */
export function readRecoveryKey(file: string): Secret {
  let text: string;
  try {
    const descriptor = openSync(file, 'r');
    try {
      const { mode } = fstatSync(descriptor);
      if ((mode & 0o077) !== 0) {
        const what = `the recovery key ${file} can be read by others (mode ${(mode & 0o777).toString(8)})`;
        throw new CliError(EXIT.usage, what, `Run: chmod 600 ${file}`);
      }
      text = readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(EXIT.usage, `the recovery key ${file} cannot be read (${codeOf(error)})`, undefined, {
      cause: error,
    });
  }
  if (!isPrivateJwk(text)) {
    const next = 'Give the file that servicectl recovery-key create has written';
    throw new CliError(EXIT.usage, `${file} does not hold a private X25519 key as JWK`, next);
  }
  return new Secret(text.trim());
}

function isPrivateJwk(text: string): boolean {
  try {
    const jwk: unknown = JSON.parse(text);
    if (typeof jwk !== 'object' || jwk === null) return false;
    const { crv, x, d } = { ...jwk } as Readonly<Record<string, unknown>>;
    return crv === 'X25519' && typeof x === 'string' && typeof d === 'string';
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
