import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { decryptWith, generateEncryptionKeypair, type EncryptionKeypair } from '../../src/protocol/jwe.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';

const PASSWORD = 'hunter2-correct-horse';
const folder = mkdtempSync(join(tmpdir(), 'recovery-'));
const keyFile = join(folder, 'recovery.json');
let plane: RunningControlPlane;
let first: EncryptionKeypair;
let cluster: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  first = await generateEncryptionKeypair();
  cluster = await plane.newCluster('eu');
  await register(first);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function register(keys: EncryptionKeypair): Promise<void> {
  const { body } = await plane.call('POST', `/clusters/${cluster}/registration-token`);
  const request = { token: body['registrationToken'], public_key: keys.publicJwk };
  const answer = await plane.call('POST', '/api/agent/register', request, { token: null });
  expect(answer.status).toBe(200);
}

async function install(name: string, secretValues: object): Promise<void> {
  const answer = await plane.call('POST', `/clusters/${cluster}/intents`, { ...INSTALL, name, secretValues });
  expect(answer.status).toBe(202);
}

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, plane.token, { mode: 0o600 });
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: tokenFile };
  let out = '';
  let err = '';
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

function newest(name: string): { generation: number; sealedValues: string } {
  const rows = plane.query(
    'SELECT record FROM intents WHERE cluster_id = ? AND name = ? ORDER BY generation DESC LIMIT 1',
    cluster,
    name,
  );
  return JSON.parse(String(rows[0]?.['record']));
}

describe('servicectl recovery-key', () => {
  it('makes the key here, keeps the private half in a file of its own, and uploads the public half alone', async () => {
    await install('before', { auth: PASSWORD });
    expect(await run('recovery-key', 'show')).toMatchObject({ code: 0, out: 'there is no recovery key\n' });
    const made = await run('recovery-key', 'create', '--out', keyFile);
    expect(made).toMatchObject({ code: 0, err: '' });
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    const jwk = JSON.parse(readFileSync(keyFile, 'utf8')) as { d: string; kid: string };
    expect(made.out).toContain(jwk.kid);
    expect(made.out).not.toContain(jwk.d);
    const shown = await run('recovery-key', 'show');
    expect(JSON.parse(shown.out)).toEqual({
      kty: 'OKP',
      crv: 'X25519',
      x: expect.any(String),
      kid: jwk.kid,
      use: 'enc',
      alg: 'ECDH-ES',
    });
    const [row] = plane.query('SELECT recovery_public_key FROM organizations WHERE recovery_public_key IS NOT NULL');
    expect(JSON.stringify(row)).not.toContain(jwk.d);
    const audit = await plane.call('GET', '/audit?kind=RecoveryKeyChanged');
    expect(JSON.stringify(audit.body)).toContain(`recovery key ${jwk.kid} set`);
  });

  it('is not replaced unasked, and no file is overwritten', async () => {
    expect(await run('recovery-key', 'create', '--out', join(folder, 'other.json'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/there is a recovery key already.*\n.*--replace/s),
    });
    expect(existsSync(join(folder, 'other.json'))).toBe(false);
    expect(await run('recovery-key', 'create', '--replace', '--out', keyFile)).toMatchObject({
      code: 2,
      err: expect.stringContaining('EEXIST'),
    });
    expect(await run('recovery-key', 'delete')).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') });
  });
});

describe('servicectl reseal', () => {
  it('seals the values of the present intents to the cluster’s new key, here, and does so once', async () => {
    await install('after', { auth: PASSWORD });
    await install('plain', {});
    const same = await run('reseal', 'eu', '--recovery-key', keyFile);
    expect(same.out).toContain('shop/after: is sealed to the present key already');
    const second = await generateEncryptionKeypair();
    await register(second);
    const dry = await run('reseal', 'eu', '--recovery-key', keyFile, '--dry-run');
    expect(dry.out).toContain('shop/after: would be sealed to');
    expect(newest('after').generation).toBe(1);

    const done = await run('reseal', 'eu', '--recovery-key', keyFile);
    expect(done.out).toContain(`shop/after: sealed to ${second.publicJwk.kid}`);
    expect(done).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /shop\/before: has no copy for a recovery key.*1 of 2 applications are not sealed anew/s,
      ),
    });
    expect(done.out + done.err + dry.out).not.toContain(PASSWORD);
    const { generation, sealedValues } = newest('after');
    expect(generation).toBe(2);
    const opened = await decryptWith(second.privateJwk, sealedValues, { audience: `${cluster}/shop/after` });
    expect(JSON.parse(opened.expose())).toEqual({ auth: PASSWORD });
    expect((await run('reseal', 'eu', '--recovery-key', keyFile)).out).toContain(
      'is sealed to the present key already',
    );
    // The copy for the recovery key went along.
    const third = await generateEncryptionKeypair();
    await register(third);
    expect((await run('reseal', 'eu', '--recovery-key', keyFile)).out).toContain(`sealed to ${third.publicJwk.kid}`);
  });

  it('refuses what is no private key, or open to others', async () => {
    const file = join(folder, 'wrong.json');
    writeFileSync(file, '{"kty":"OKP","crv":"X25519","x":"hunter2"}', { mode: 0o600 });
    const wrong = await run('reseal', 'eu', '--recovery-key', file);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('does not hold a private X25519 key') });
    expect(wrong.err).not.toContain('hunter2');
    chmodSync(file, 0o644);
    expect(await run('reseal', 'eu', '--recovery-key', file)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`Run: chmod 600 ${file}`),
    });
    expect(await run('reseal', 'eu', '--recovery-key', join(folder, 'none'))).toMatchObject({ code: 2 });
  });

  it('does not overwrite what somebody changed meanwhile', async () => {
    const { generation } = newest('after');
    const body = { action: 'update', namespace: 'shop', name: 'after', chartVersion: '6.6.0' };
    const stale = await plane.call('POST', `/clusters/${cluster}/intents`, {
      ...body,
      expectedGeneration: generation - 1,
    });
    expect(stale).toMatchObject({ status: 409, body: { error: 'conflict', generation } });
    const fresh = await plane.call('POST', `/clusters/${cluster}/intents`, { ...body, expectedGeneration: generation });
    expect(fresh.status).toBe(202);
    expect(newest('after')).not.toHaveProperty('expectedGeneration');
  });
});
