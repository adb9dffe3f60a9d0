import { compactVerify, importJWK, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../src/protocol/canonical-json.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { registerAgent } from './running-agent.ts';

const KEYS = '/clusters/prod-eu/signing-keys';

const refusal = ({ status, body }: Answer): string => `${status} ${String(body['error'])}`;

async function states(plane: RunningControlPlane): Promise<string[]> {
  const { body } = await plane.call('GET', KEYS);
  return body['items'].map(({ state }: { state: string }) => state);
}

describe('signing keys of a cluster', () => {
  it('gives a successor that its predecessor endorsed, told by /config with the current one first', async () => {
    await using plane = await RunningControlPlane.start();
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu'));
    const [first] = agent.registration.signing_public_keys.keys;
    const before = await agent.get('/api/agent/config');
    expect(before.body['signing_key_endorsements']).toBeUndefined();
    const rotated = await plane.call('POST', KEYS);
    expect([rotated.status, rotated.body['state'], rotated.body['predecessor']]).toEqual([201, 'current', first?.kid]);
    const { headers, body } = await agent.get('/api/agent/config');
    expect(headers.get('service-config-revision')).not.toBe(before.headers.get('service-config-revision'));
    const [current, retired] = body['signing_public_keys'].keys;
    expect([current.kid, retired]).toEqual([rotated.body['kid'], first]);
    const [{ kid, predecessor, jws }] = body['signing_key_endorsements'];
    expect([kid, predecessor]).toEqual([current.kid, first?.kid]);
    const { payload, protectedHeader } = await compactVerify(jws, await importJWK(first as JWK, 'EdDSA'));
    expect(Buffer.from(payload).toString()).toBe(canonicalJson(current));
    expect(protectedHeader).toEqual({ alg: 'EdDSA', kid: first?.kid });
    // The private half of a retired key is of no more use to anybody.
    expect(plane.query('SELECT kid FROM signing_keys WHERE private_key_sealed = ?', '')).toEqual([{ kid: first?.kid }]);
  });

  it('revokes a retired key, never the one that signs, and keeps the endorsements that others hang on', async () => {
    await using plane = await RunningControlPlane.start();
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu'));
    const second = await plane.call('POST', KEYS);
    const third = await plane.call('POST', KEYS);
    expect(await states(plane)).toEqual(['current', 'retired', 'retired']);
    expect(refusal(await plane.call('DELETE', `${KEYS}/${third.body['kid']}`))).toBe('409 conflict');
    expect(refusal(await plane.call('DELETE', `${KEYS}/nothing`))).toBe('404 not_found');
    for (let n = 0; n < 2; n += 1) {
      expect((await plane.call('DELETE', `${KEYS}/${second.body['kid']}`)).status).toBe(204);
    }
    const { body } = await agent.get('/api/agent/config');
    expect(body['signing_public_keys'].keys.map(({ kid }: { kid: string }) => kid)).toEqual([
      third.body['kid'],
      agent.registration.signing_public_keys.keys[0]?.kid,
    ]);
    expect(body['signing_key_endorsements'].map(({ kid }: { kid: string }) => kid)).toEqual([
      third.body['kid'],
      second.body['kid'],
    ]);
    const { body: audit } = await plane.call('GET', '/audit?source=user');
    expect(audit['items'].map(({ kind }: { kind: string }) => kind).slice(0, 3)).toEqual([
      'SigningKeyRevoked',
      'SigningKeyRotated',
      'SigningKeyRotated',
    ]);
  });

  it('keeps at most sixteen that count, and says which way out there is', async () => {
    await using plane = await RunningControlPlane.start();
    await registerAgent(plane, await plane.newCluster('prod-eu'));
    for (let n = 0; n < 15; n += 1) expect((await plane.call('POST', KEYS)).status).toBe(201);
    const full = await plane.call('POST', KEYS);
    expect(refusal(full)).toBe('409 conflict');
    expect(full.body['message']).toContain('revoke a retired one first');
  });

  it('lets one of two that rotate at once win, and has none to rotate before a registration', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('prod-eu');
    expect(refusal(await plane.call('POST', KEYS))).toBe('409 conflict');
    await registerAgent(plane, id);
    const answers = await Promise.all([plane.call('POST', KEYS), plane.call('POST', KEYS), plane.call('POST', KEYS)]);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect((await states(plane)).filter((state) => state === 'current')).toHaveLength(1);
    expect(await states(plane)).toHaveLength(1 + made.length);
  });
});
