import { createHash, hash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Secret } from '../runtime/secret.ts';

/** Registration, agent, admin and Git tokens: told apart by their prefix (decisions, "Names"). */
export type TokenKind = 'svcreg' | 'svcagt' | 'svcadm' | 'svcgit';

const RANDOM_BYTES = 32;
const RANDOM_CHARACTERS = 43;
const CHECK_DIGITS = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A new token: `<kind>_`, 43 base64url characters (256 random bits), 6 base62 digits of CRC-32 over what precedes,
 * left-padded with `0`. The check lets secret scanners and people tell a token from a lookalike; it secures nothing.
 */
export function mintToken(kind: TokenKind, randomBytes: (n: number) => Uint8Array): Secret {
  const body = `${kind}_${Buffer.from(randomBytes(RANDOM_BYTES)).toString('base64url')}`;
  return new Secret(body + checkDigits(body));
}

/** Prefix, length, alphabet and check digits. Cheap enough to run before any look-up. */
export function isWellFormedToken(kind: TokenKind, text: string): boolean {
  const bodyLength = kind.length + 1 + RANDOM_CHARACTERS;
  if (text.length !== bodyLength + CHECK_DIGITS || !text.startsWith(`${kind}_`)) return false;
  const body = text.slice(0, bodyLength);
  return /^[A-Za-z0-9_-]+$/.test(body) && text.slice(bodyLength) === checkDigits(body);
}

/** Lower-case hex SHA-256: the only form in which a token is stored. */
export function hashToken(text: string): string {
  // In one call: every request asks for one, and no object is left to collect.
  return hash('sha256', text, 'hex');
}

/** Compares by digest, so that neither the content nor the length of either side shows in the time it takes. */
export function equalConstantTime(a: string, b: string): boolean {
  const left = createHash('sha256').update(a, 'utf8').digest();
  const right = createHash('sha256').update(b, 'utf8').digest();
  return timingSafeEqual(left, right);
}

function checkDigits(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let index = 0; index < CHECK_DIGITS; index += 1) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
