import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  equalConstantTime,
  hashToken,
  isWellFormedToken,
  mintToken,
  type TokenKind,
} from '../../src/protocol/token.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const KINDS: readonly TokenKind[] = ['svcreg', 'svcagt', 'svcadm', 'svcgit'];
const vectors = readVectors<{ cases: { kind: TokenKind; randomHex: string; token: string; sha256: string }[] }>(
  'token',
);

describe('tokens', () => {
  it.each(vectors.cases)('mints, checks and hashes the vector of $kind', ({ kind, randomHex, token, sha256 }) => {
    expect(mintToken(kind, () => Buffer.from(randomHex, 'hex')).expose()).toBe(token);
    expect(isWellFormedToken(kind, token)).toBe(true);
    expect(hashToken(token)).toBe(sha256);
  });

  it('takes a minted token as its own kind and no other', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.uint8Array({ minLength: 32, maxLength: 32 }), (kind, random) => {
        const token = mintToken(kind, () => random).expose();
        expect(token).toMatch(/^svc(reg|agt|adm|git)_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/);
        expect(KINDS.filter((other) => isWellFormedToken(other, token))).toEqual([kind]);
      }),
    );
  });

  it('refuses a token in which any one character was changed', () => {
    const { kind, token } = vectors.cases[0]!;
    fc.assert(
      fc.property(
        fc.nat(token.length - 1),
        fc.constantFrom('a', 'Z', '0', '9', '_', '-', '.', ' ', '\n'),
        (at, character) => {
          fc.pre(token[at] !== character);
          expect(isWellFormedToken(kind, token.slice(0, at) + character + token.slice(at + 1))).toBe(false);
        },
      ),
    );
  });

  it.each(['', 'svcreg_', 'svcreg_short', ' ', 'svcreg_'.padEnd(56, 'a')])('refuses %j', (text) => {
    expect(isWellFormedToken('svcreg', text)).toBe(false);
  });

  it('does not show in logs or JSON', () => {
    const token = mintToken('svcagt', (n) => new Uint8Array(n));
    expect(`${String(token)} ${JSON.stringify({ token })}`).toBe('[REDACTED] {"token":"[REDACTED]"}');
  });

  it('compares texts of any length', () => {
    expect(equalConstantTime('a', 'a')).toBe(true);
    expect(equalConstantTime('', '')).toBe(true);
    expect(equalConstantTime('a', 'ab')).toBe(false);
    expect(equalConstantTime('a', 'b')).toBe(false);
  });
});
