import { CompactSign, importJWK, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { followKeys, pinsOf } from '../../src/operator/signing-key-pins.ts';
import { decideKeys } from '../../src/operator/signing-keys.ts';
import type { SigningKeyEndorsement } from '../../src/protocol/agent-config.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { generateSigningKey, type SigningKey } from '../../src/protocol/signing-key.ts';

const A = generateSigningKey();
const B = generateSigningKey();
const C = generateSigningKey();
const EVIL = generateSigningKey();

async function endorse(by: SigningKey, successor: SigningKey, payload?: string): Promise<SigningKeyEndorsement> {
  const key = await importJWK(JSON.parse(by.privateJwk.expose()) as JWK, 'EdDSA');
  const jws = await new CompactSign(Buffer.from(payload ?? canonicalJson(successor.publicJwk)))
    .setProtectedHeader({ alg: 'EdDSA', kid: by.kid })
    .sign(key);
  return { kid: successor.kid, predecessor: by.kid, jws };
}

function kids(keys: readonly { kid?: string }[]): (string | undefined)[] {
  return keys.map(({ kid }) => kid);
}

describe('the signing keys of the control plane', () => {
  it('are believed at first, when nothing is pinned', () => {
    expect(decideKeys([], { keys: [A.publicJwk], endorsements: [] })).toEqual({ accepted: [A.publicJwk], refused: [] });
  });

  it('follow the pinned one through its successors, also those that are not offered any more', async () => {
    const endorsements = [await endorse(B, C), await endorse(A, B)];
    const both = decideKeys([A.publicJwk], { keys: [C.publicJwk, A.publicJwk], endorsements });
    expect({ accepted: kids(both.accepted), refused: both.refused }).toEqual({ accepted: [C.kid, A.kid], refused: [] });
    const alone = decideKeys([A.publicJwk], { keys: [C.publicJwk], endorsements });
    expect(kids(alone.accepted)).toEqual([C.kid]);
  });

  it('stop counting when they are revoked, and endorse nobody any more', async () => {
    const { accepted } = decideKeys([A.publicJwk, B.publicJwk], { keys: [B.publicJwk], endorsements: [] });
    expect(kids(accepted)).toEqual([B.kid]);
    const later = decideKeys(accepted, { keys: [EVIL.publicJwk], endorsements: [await endorse(A, EVIL)] });
    expect({ accepted: kids(later.accepted), refused: kids(later.refused) }).toEqual({
      accepted: [B.kid],
      refused: [EVIL.kid],
    });
  });

  it.each([
    ['nobody endorsed', async () => []],
    ['itself endorsed', async () => [{ ...(await endorse(EVIL, EVIL)), predecessor: A.kid }]],
    ['the pinned one endorsed another', async () => [{ ...(await endorse(A, B)), kid: EVIL.kid }]],
    ['was endorsed by another text of the pinned key', async () => [await endorse(A, EVIL, '{"cluster_id":"c-1"}')]],
    ['has an endorsement that is no JWS', async () => [{ kid: EVIL.kid, predecessor: A.kid, jws: 'a.b' }]],
  ])('keep the pinned one where one is offered that %s', async (_, endorsements) => {
    const decision = decideKeys([A.publicJwk], { keys: [EVIL.publicJwk], endorsements: await endorsements() });
    expect(decision).toEqual({ accepted: [A.publicJwk], refused: [EVIL.publicJwk] });
  });

  it('are told apart by what they are, not by the name they go by', () => {
    const named = { ...EVIL.publicJwk, kid: A.kid };
    expect(decideKeys([A.publicJwk], { keys: [named], endorsements: [] }).accepted).toEqual([A.publicJwk]);
  });

  it('are not forgotten because none or nonsense is offered', () => {
    const nonsense = { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' };
    expect(decideKeys([A.publicJwk], { keys: [], endorsements: [] }).accepted).toEqual([A.publicJwk]);
    expect(decideKeys([A.publicJwk], { keys: [nonsense], endorsements: [] })).toEqual({
      accepted: [A.publicJwk],
      refused: [nonsense],
    });
  });
});

describe('the pins in the status', () => {
  const credentials = { caCertificate: '', spentTokens: ['reg1', 'reg0'], signingKeys: [A.publicJwk] };

  it('come from a registration, and from each new one anew', () => {
    const first = pinsOf(credentials, {});
    expect(first).toEqual({
      odooPublicKey: canonicalJson(A.publicJwk),
      signingKeys: { registration: 'reg1', accepted: [canonicalJson(A.publicJwk)] },
    });
    expect(pinsOf(credentials, first ?? {})).toBeUndefined();
    const again = { ...credentials, spentTokens: ['reg2', 'reg1'], signingKeys: [B.publicJwk] };
    expect(pinsOf(again, first ?? {})?.odooPublicKey).toBe(canonicalJson(B.publicJwk));
  });

  it('hold no more of a key than what it is', () => {
    const padded = { ...A.publicJwk, x5c: ['A'.repeat(10_000)] };
    expect(followKeys({}, { signing_public_keys: { keys: [padded] } }).change.odooPublicKey).toBe(
      canonicalJson(A.publicJwk),
    );
  });

  it('warn of a key that is not endorsed until it is gone or endorsed', async () => {
    const pinned = pinsOf(credentials, {}) ?? {};
    const offered = (...keys: SigningKey[]) => ({ signing_public_keys: { keys: keys.map((key) => key.publicJwk) } });
    expect(followKeys(pinned, offered(A))).toEqual({ change: pinned });
    const warned = followKeys(pinned, offered(EVIL));
    expect(warned.change).toEqual(pinned);
    expect(warned.condition).toMatchObject({
      type: 'SigningKeyTrusted',
      status: 'False',
      reason: 'SigningKeyNotTrusted',
    });
    expect(warned.condition?.message).toContain(
      `names a signing key ("${EVIL.kid}") that none of the keys pinned here`,
    );
    const conditions = [{ type: 'SigningKeyTrusted', status: 'False' as const }];
    const healed = followKeys(
      { ...pinned, conditions },
      { ...offered(B, A), signing_key_endorsements: [await endorse(A, B)] },
    );
    expect(healed.condition).toMatchObject({ status: 'True', reason: 'SigningKeysAccepted' });
    expect(healed.change.odooPublicKey).toBe(canonicalJson(B.publicJwk));
  });

  it('start from the one key of a status of before there was a list', () => {
    const { change } = followKeys(
      { odooPublicKey: JSON.stringify(A.publicJwk) },
      { signing_public_keys: { keys: [EVIL.publicJwk] } },
    );
    expect(change.odooPublicKey).toBe(canonicalJson(A.publicJwk));
  });
});
