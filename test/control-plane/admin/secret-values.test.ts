import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  decryptWith,
  encryptTo,
  generateEncryptionKeypair,
  type EncryptionKeypair,
} from '../../../src/protocol/jwe.ts';
import { canonicalJson } from '../../../src/protocol/canonical-json.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

const SECRET = 'hunter2-correct-horse';
const INTENT = { ...INSTALL, values: { replicaCount: 2 }, secretValues: { auth: { password: SECRET } } };

let plane: RunningControlPlane;
let keys: EncryptionKeypair;
let cluster: string;
let count = 0;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function newCluster(isRegistered = true): Promise<string> {
  count += 1;
  const { body } = await plane.call('POST', '/clusters', {
    slug: `sealed-${count}`,
    displayName: 'x',
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo', 'strict'],
    allowedOperationTemplates: ['scale'],
    connectivityMode: 'gitops',
  });
  const token = String(body['registrationToken']);
  if (isRegistered) {
    const request = { token, public_key: keys.publicJwk };
    const answer = await plane.call('POST', '/api/agent/register', request, { token: null });
    expect(answer.status).toBe(200);
  }
  return String(body['cluster'].id);
}

beforeEach(async () => {
  keys = await generateEncryptionKeypair();
  cluster = await newCluster();
});

async function accept(body: object, headers: Record<string, string> = {}) {
  return await plane.call('POST', `/clusters/${cluster}/intents`, body, { headers });
}

interface Stored {
  readonly text: string;
  readonly record: { readonly sealedValues?: string };
  readonly recovery: string | null;
}

function newest(): Stored {
  const [row] = plane.query(
    'SELECT record, recovery_values FROM intents WHERE cluster_id = ? ORDER BY generation DESC LIMIT 1',
    cluster,
  );
  const text = String(row?.['record']);
  return { text, record: JSON.parse(text), recovery: row?.['recovery_values'] as string | null };
}

async function opened(sealed: string | undefined, by: EncryptionKeypair = keys): Promise<unknown> {
  const audience = `${cluster}/shop/podinfo`;
  return JSON.parse((await decryptWith(by.privateJwk, sealed ?? '', { audience })).expose());
}

describe('secretValues', () => {
  it('are sealed to the cluster’s key for this place before anything is stored, and delivered sealed', async () => {
    const { status, body } = await accept(INTENT);
    expect(status).toBe(202);
    const { text, record, recovery } = newest();
    expect(text).not.toContain(SECRET);
    expect(recovery).toBeNull();
    await expect(opened(record.sealedValues)).resolves.toEqual({ auth: { password: SECRET } });
    await plane.until(String(body['id']), 'delivered');
    const manifest = await plane.git('show', `main:clusters/sealed-${count}/apps/shop/podinfo.yaml`);
    expect(manifest).toContain(`sealedValues: ${record.sealedValues}`);
    expect(manifest).not.toContain(SECRET);
  });

  it('stay as they are at an update that does not name them, are replaced by others, and go with {}', async () => {
    await accept(INTENT);
    const first = newest().record.sealedValues;
    await accept({ action: 'update', namespace: 'shop', name: 'podinfo', chartVersion: '6.6.0' });
    expect(newest().record.sealedValues).toBe(first);
    const update = { action: 'update', namespace: 'shop', name: 'podinfo' };
    await accept({ ...update, secretValues: { other: 1 } });
    await expect(opened(newest().record.sealedValues)).resolves.toEqual({ other: 1 });
    await accept({ ...update, secretValues: {} });
    expect(newest().record).not.toHaveProperty('sealedValues');
    await accept({ ...update, chartVersion: '6.5.0' });
    expect(newest().record).not.toHaveProperty('sealedValues');
  });

  it('do not come back with an installation after an uninstall', async () => {
    await accept(INTENT);
    await accept({ action: 'uninstall', namespace: 'shop', name: 'podinfo' });
    await accept(INSTALL);
    expect(newest().record).not.toHaveProperty('sealedValues');
  });

  it('are refused for a cluster without a key, and nothing is stored', async () => {
    cluster = await newCluster(false);
    expect(await accept(INTENT)).toMatchObject({
      status: 400,
      body: { error: 'constraint_violated', message: expect.stringContaining('has not registered a public key yet') },
    });
    expect(plane.query('SELECT id FROM intents WHERE cluster_id = ?', cluster)).toEqual([]);
    expect(await accept({ ...INTENT, secretValues: {} })).toMatchObject({ status: 202 });
  });

  it('are sealed to the organization’s recovery key too, once it has one', async () => {
    const recovery = await generateEncryptionKeypair();
    const put = await plane.call('PUT', '/organization/recovery-key', { publicKey: recovery.publicJwk });
    expect(put).toMatchObject({ status: 200, body: { recoveryKey: { kid: recovery.publicJwk.kid } } });
    await accept(INTENT);
    const kept = newest().recovery;
    await expect(opened(kept ?? '', recovery)).resolves.toEqual({ auth: { password: SECRET } });
    await accept({ action: 'update', namespace: 'shop', name: 'podinfo', chartVersion: '6.6.0' });
    expect(newest().recovery).toBe(kept);
    await accept({ action: 'update', namespace: 'shop', name: 'podinfo', secretValues: {} });
    expect(newest().recovery).toBeNull();
    expect(await plane.call('DELETE', '/organization/recovery-key')).toMatchObject({ status: 204 });
  });

  it('are bounded', async () => {
    const answer = await accept({ ...INTENT, secretValues: { blob: 'x'.repeat(64 * 1024) } });
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('at most 65536 bytes'), faults: [{ path: '/secretValues' }] },
    });
    expect(JSON.stringify(answer.body)).not.toContain('xxxx');
  });

  it('belong to installs and updates, in one form', async () => {
    const uninstall = { action: 'uninstall', namespace: 'shop', name: 'podinfo', secretValues: {} };
    expect(await accept(uninstall)).toMatchObject({ status: 400 });
    const sealedValues = await encryptTo(keys.publicJwk, '{}', { aud: `${cluster}/shop/podinfo` });
    expect(await accept({ ...INTENT, sealedValues })).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/sealedValues', message: expect.stringContaining('excludes secretValues') }] },
    });
  });

  it('count for the catalog entry’s schema, whose refusals never hold one', async () => {
    const auth = {
      type: 'object',
      required: ['password'],
      properties: { password: { type: 'string', minLength: 12, pattern: '^[a-z0-9-]+$' }, port: { type: 'integer' } },
      additionalProperties: false,
    };
    const valuesSchema = { type: 'object', required: ['auth'], properties: { auth } };
    await plane.call('PUT', '/catalog/strict', { ...PODINFO, valuesSchema });
    const install = { ...INSTALL, catalogEntry: 'strict' };
    expect(await accept(install)).toMatchObject({ status: 400, body: { faults: [{ path: '/values/auth' }] } });
    for (const secretValues of [
      { auth: { password: 'HUNTER2-SHORT-NO' } },
      { auth: { password: ['hunter2-in-a-list'] } },
      { auth: { password: SECRET, port: 'hunter2-port' } },
      { auth: 'hunter2-text' },
    ]) {
      const { status, body } = await accept({ ...install, secretValues });
      expect(status).toBe(400);
      expect(JSON.stringify(body).toLowerCase()).not.toContain('hunter2');
    }
    expect(await accept({ ...install, secretValues: { auth: { password: SECRET } } })).toMatchObject({ status: 202 });
    // What the earlier intent sealed is not missing now, and what can be seen is checked as before.
    const update = { action: 'update', namespace: 'shop', name: 'podinfo' };
    expect(await accept({ ...update, values: {} })).toMatchObject({ status: 202 });
    expect(await accept({ ...update, values: { auth: { port: 'x' } } })).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/values/auth/port' }] },
    });
    expect(await accept({ ...update, secretValues: {} })).toMatchObject({ status: 400 });
  });
});

describe('an Idempotency-Key', () => {
  it('recognizes the same secret values without a hash from which they could be guessed', async () => {
    const headers = { 'idempotency-key': 'k-1' };
    const first = await accept(INTENT, headers);
    expect(await accept(INTENT, headers)).toMatchObject({ status: 202, body: first.body });
    const other = { ...INTENT, secretValues: { auth: { password: 'another-one-12345' } } };
    expect(await accept(other, headers)).toMatchObject({ status: 409, body: { error: 'conflict' } });
    const plain = createHash('sha256').update(canonicalJson(INTENT), 'utf8').digest('hex');
    const [row] = plane.query('SELECT request_hash FROM request_keys WHERE cluster_id = ?', cluster);
    expect(row?.['request_hash']).toMatch(/^[0-9a-f]{64}$/);
    expect(row?.['request_hash']).not.toBe(plain);
  });
});

describe('sealedValues', () => {
  it('are taken as they are when they are for this cluster’s present key and this place', async () => {
    const sealedValues = await encryptTo(keys.publicJwk, '{"a":1}', { aud: `${cluster}/shop/podinfo` });
    expect(await accept({ ...INSTALL, sealedValues })).toMatchObject({ status: 202 });
    expect(newest().record.sealedValues).toBe(sealedValues);
  });

  it.each([
    [
      'another place',
      async () => await encryptTo(keys.publicJwk, '{}', { aud: `${cluster}/shop/other` }),
      'must be sealed for',
    ],
    [
      'another key',
      async () => {
        const stranger = await generateEncryptionKeypair();
        return await encryptTo(stranger.publicJwk, '{}', { aud: `${cluster}/shop/podinfo` });
      },
      'must be sealed to the present key',
    ],
    ['nobody', async () => 'nonsense', 'not a compact JWE'],
  ])('are refused when they are for %s', async (_, make, message) => {
    const answer = await accept({ ...INSTALL, sealedValues: await make() });
    expect(answer).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/sealedValues', message: expect.stringContaining(message) }] },
    });
  });

  it('come with recoveryValues only where there is a recovery key', async () => {
    const sealedValues = await encryptTo(keys.publicJwk, '{}', { aud: `${cluster}/shop/podinfo` });
    expect(await accept({ ...INSTALL, sealedValues, recoveryValues: sealedValues })).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/recoveryValues', message: expect.stringContaining('has no recovery key') }] },
    });
    expect(await accept({ ...INSTALL, recoveryValues: sealedValues })).toMatchObject({ status: 400 });
  });
});
