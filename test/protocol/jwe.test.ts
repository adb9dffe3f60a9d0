import { CompactEncrypt, generateKeyPair, importJWK, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/protocol/app-error.ts';
import {
  assertPublicKey,
  decryptWith,
  encryptTo,
  generateEncryptionKeypair,
  JweError,
} from '../../src/protocol/jwe.ts';
import { generateSigningKey, okpThumbprint } from '../../src/protocol/signing-key.ts';
import { Secret } from '../../src/runtime/secret.ts';

const own = await generateEncryptionKeypair();
const retired = await generateEncryptionKeypair();

async function codeOf(opening: Promise<unknown>): Promise<string> {
  try {
    await opening;
  } catch (error) {
    if (error instanceof JweError) return error.code;
    throw error;
  }
  return 'opened';
}

describe('payload encryption', () => {
  it('opens what was encrypted to the key', async () => {
    const compact = await encryptTo(own.publicJwk, new Secret('pässword 😀'), { aud: 'c-1/shop/podinfo' });
    expect(decodeProtectedHeader(compact)).toMatchObject({
      alg: 'ECDH-ES',
      enc: 'A256GCM',
      kid: own.publicJwk.kid,
      aud: 'c-1/shop/podinfo',
    });
    expect((await decryptWith(own.privateJwk, compact)).expose()).toBe('pässword 😀');
  });

  it('opens with a retired key of the ring', async () => {
    const compact = await encryptTo(retired.publicJwk, 'old');
    expect((await decryptWith([own.privateJwk, retired.privateJwk], compact)).expose()).toBe('old');
  });

  it('tries every key of the ring where the header names none', async () => {
    const key = await importJWK({ ...retired.publicJwk }, 'ECDH-ES');
    const compact = await new CompactEncrypt(Buffer.from('old'))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM' })
      .encrypt(key);
    expect((await decryptWith([own.privateJwk, retired.privateJwk], compact)).expose()).toBe('old');
    expect(await codeOf(decryptWith(own.privateJwk, compact))).toBe('decryption_failed');
  });

  it('says that the key is not in the ring', async () => {
    expect(await codeOf(decryptWith(own.privateJwk, await encryptTo(retired.publicJwk, 'x')))).toBe('unknown_key');
  });

  it('opens nowhere but where it was sealed for', async () => {
    const compact = await encryptTo(own.publicJwk, 'x', { aud: 'c-1/shop/podinfo' });
    expect((await decryptWith(own.privateJwk, compact, { audience: 'c-1/shop/podinfo' })).expose()).toBe('x');
    expect(await codeOf(decryptWith(own.privateJwk, compact, { audience: 'c-1/shop/other' }))).toBe('wrong_audience');
    const open = await encryptTo(own.publicJwk, 'x');
    expect(await codeOf(decryptWith(own.privateJwk, open, { audience: 'c-1/shop/other' }))).toBe('wrong_audience');
  });

  it('does not let extra members replace the algorithms or the key id', async () => {
    const compact = await encryptTo(own.publicJwk, 'x', { alg: 'dir', enc: 'A128GCM', kid: 'other' });
    expect(decodeProtectedHeader(compact)).toMatchObject({ alg: 'ECDH-ES', enc: 'A256GCM', kid: own.publicJwk.kid });
  });

  it('refuses an altered text, another algorithm, compression and nonsense', async () => {
    const compact = await encryptTo(own.publicJwk, 'secret');
    const parts = compact.split('.');
    parts[4] = parts[4]!.startsWith('A') ? `B${parts[4]!.slice(1)}` : `A${parts[4]!.slice(1)}`;
    expect(await codeOf(decryptWith(own.privateJwk, parts.join('.')))).toBe('decryption_failed');
    const { publicKey } = await generateKeyPair('RSA-OAEP-256');
    const rsa = await new CompactEncrypt(Buffer.from('x'))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM' })
      .encrypt(publicKey);
    expect(await codeOf(decryptWith(own.privateJwk, rsa))).toBe('malformed');
    const key = await importJWK({ ...own.publicJwk }, 'ECDH-ES');
    const zipped = await new CompactEncrypt(Buffer.from('x'.repeat(10_000)))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', zip: 'DEF' })
      .encrypt(key);
    expect(await codeOf(decryptWith(own.privateJwk, zipped))).toBe('malformed');
    for (const text of ['', 'a.b.c', 'not a jwe', '....', 'e30....']) {
      expect(await codeOf(decryptWith(own.privateJwk, text))).toBe('malformed');
    }
  });

  it('never shows a key: not in JSON, and not in the error of a broken keyring', async () => {
    expect(JSON.stringify(own)).not.toContain(JSON.parse(own.privateJwk.expose()).d);
    const broken = new Secret('{"d":"very-private"');
    const compact = await encryptTo(own.publicJwk, 'x');
    await expect(decryptWith(broken, compact)).rejects.toThrow(/^a private key of the ring is not JWK JSON$/);
    expect(await codeOf(decryptWith(new Secret('{}'), compact))).toBe('unknown_key');
    expect(await codeOf(decryptWith(new Secret('null'), compact))).toBe('unknown_key');
  });
});

/** Every encoding of the points of small order on Curve25519 and its twist, least significant byte first. */
const LOW_ORDER = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
  `${'00'.repeat(31)}80`,
  `ed${'ff'.repeat(31)}`,
];

describe('assertPublicKey', () => {
  const { publicJwk } = own;

  it('takes a public key with or without its optional members', () => {
    expect(() => assertPublicKey(publicJwk)).not.toThrow();
    expect(() => assertPublicKey({ kty: 'OKP', crv: 'X25519', x: publicJwk.x })).not.toThrow();
  });

  it.each([
    ['the private half', { ...publicJwk, d: 'x' }, '/public_key/d'],
    ['a symmetric key', { kty: 'oct', k: 'x' }, '/public_key/k'],
    ['another key type', { ...publicJwk, kty: 'EC' }, '/public_key/kty'],
    ['another curve', { ...publicJwk, crv: 'Ed25519' }, '/public_key/crv'],
    ['a short key', { ...publicJwk, x: 'AAAA' }, '/public_key/x'],
    ['a padded key', { ...publicJwk, x: `${publicJwk.x}=` }, '/public_key/x'],
    ['no key', { kty: 'OKP', crv: 'X25519' }, '/public_key/x'],
    ...LOW_ORDER.map((hex): [string, object, string] => [
      `a point of low order, ${hex.slice(0, 8)}…${hex.slice(-2)}`,
      { ...publicJwk, x: Buffer.from(hex, 'hex').toString('base64url') },
      '/public_key/x',
    ]),
    ['another algorithm', { ...publicJwk, alg: 'ECDH-ES+A256KW' }, '/public_key/alg'],
    ['a signing key', { ...publicJwk, use: 'sig' }, '/public_key/use'],
    ['a list', [], '/public_key'],
    ['text', 'key', '/public_key'],
    ['null', null, '/public_key'],
  ])('refuses %s', (_name, jwk, path) => {
    try {
      assertPublicKey(jwk);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).code).toBe('constraint_violated');
      expect((error as AppError).faults.map((fault) => fault.path)).toEqual([path]);
    }
  });
});

describe('generateSigningKey', () => {
  it('makes an Ed25519 key whose id is its thumbprint', () => {
    const { kid, publicJwk, privateJwk } = generateSigningKey();
    expect(publicJwk).toEqual({ kty: 'OKP', crv: 'Ed25519', x: publicJwk.x, kid, use: 'sig', alg: 'EdDSA' });
    expect(JSON.parse(privateJwk.expose())).toMatchObject({ ...publicJwk, d: expect.any(String) });
  });

  it('computes the thumbprint of RFC 8037, appendix A.3', () => {
    expect(okpThumbprint('Ed25519', '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo')).toBe(
      'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
    );
  });
});
