import { describe, expect, it } from 'vitest';
import { decryptWith, type JweError } from '../../src/protocol/jwe.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { readVectors } from '../vectors/read-vectors.ts';

interface Case {
  name: string;
  audience?: string;
  jwe: string;
}
const vectors = readVectors<{
  ring: object[];
  opened: (Case & { plaintext: string })[];
  refused: (Case & { code: JweError['code'] })[];
}>('jwe');
const ring = vectors.ring.map((jwk) => new Secret(JSON.stringify(jwk)));

describe('the JWE vectors', () => {
  it.each(vectors.opened)('are opened: $name', async ({ jwe, audience, plaintext }) => {
    const opened = await decryptWith(ring, jwe, audience === undefined ? {} : { audience });
    expect(opened.expose()).toBe(plaintext);
  });

  it.each(vectors.refused)('are refused: $name', async ({ jwe, audience, code }) => {
    const opening = decryptWith(ring, jwe, audience === undefined ? {} : { audience });
    await expect(opening).rejects.toMatchObject({ name: 'JweError', code });
  });
});
