import { describe, expect, it } from 'vitest';
import {
  PayloadSignatureError,
  signPayload,
  verifyPayload,
  type ExpectedContext,
  type PayloadContext,
} from '../../src/protocol/payload-signature.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import type { PublicJwk } from '../../src/protocol/register.ts';
import { generateSigningKey } from '../../src/protocol/signing-key.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { readVectors } from '../vectors/read-vectors.ts';

interface Signed {
  name: string;
  header: PayloadContext;
  payload: unknown;
  canonicalPayload: string;
  jws: string;
}
interface Refused {
  name: string;
  jws: string;
  payload: unknown;
  expected: ExpectedContext;
  code: PayloadSignatureError['code'];
}
const vectors = readVectors<{
  publicJwk: PublicJwk & { kid: string };
  privateJwk: unknown;
  signed: Signed[];
  refused: Refused[];
}>('payload-signature');
const key = { kid: vectors.publicJwk.kid, privateJwk: new Secret(JSON.stringify(vectors.privateJwk)) };
const keys = [vectors.publicJwk];
const [sample] = vectors.signed as [Signed];

async function failure(verification: Promise<void>): Promise<PayloadSignatureError> {
  const error: unknown = await verification.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof PayloadSignatureError) return error;
  throw error ?? new Error('it was taken');
}

describe('payload signatures', () => {
  it.each(vectors.signed)('are made and verified as the vectors say: $name', async (vector) => {
    const { header, payload, canonicalPayload, jws } = vector;
    expect(canonicalJson(payload)).toBe(canonicalPayload);
    await expect(signPayload({ payload, key, header })).resolves.toBe(jws);
    await verifyPayload({ jws, payload, keys, expected: header });
  });

  it.each(vectors.refused)('are refused as the vectors say: $name', async ({ jws, payload, expected, code }) => {
    expect((await failure(verifyPayload({ jws, payload, keys, expected }))).code).toBe(code);
  });

  it('verify with whichever of the accepted keys made them, so that a rotation leaves earlier ones good', async () => {
    const next = generateSigningKey();
    const jws = await signPayload({ payload: sample.payload, key: next, header: sample.header });
    for (const one of [jws, sample.jws]) {
      await verifyPayload({
        jws: one,
        payload: sample.payload,
        keys: [next.publicJwk, vectors.publicJwk],
        expected: sample.header,
      });
    }
    const revoked = { jws: sample.jws, payload: sample.payload, keys: [next.publicJwk], expected: sample.header };
    expect((await failure(verifyPayload(revoked))).message).toContain(`known: ${next.kid}`);
  });

  it('do not depend on the order of members, and compare only what the verifier knows', async () => {
    const payload = Object.fromEntries(Object.entries(sample.payload as object).reverse());
    const expected = { cluster_id: sample.header.cluster_id };
    await expect(verifyPayload({ jws: sample.jws, payload, keys, expected })).resolves.toBeUndefined();
  });

  it('are refused over what has no canonical form, and never make one over it', async () => {
    const payload = { text: '\ud800' };
    await expect(signPayload({ payload, key, header: sample.header })).rejects.toThrow(TypeError);
    const { code } = await failure(verifyPayload({ jws: sample.jws, payload, keys, expected: sample.header }));
    expect(code).toBe('invalid');
  });

  it('say nothing of the payload in their errors', async () => {
    const payload = { password: 'hunter2-hunter2' };
    const error = await failure(verifyPayload({ jws: sample.jws, payload, keys, expected: sample.header }));
    expect(`${error.message} ${String(error.cause)} ${error.stack ?? ''}`).not.toContain('hunter2');
  });

  it('are bounded before anything is decoded', async () => {
    const jws = `${'a'.repeat(100_000)}..${'b'.repeat(86)}`;
    const error = await failure(verifyPayload({ jws, payload: {}, keys, expected: sample.header }));
    expect(error).toMatchObject({ code: 'malformed', message: 'it is not a compact JWS with a detached payload' });
  });
});
