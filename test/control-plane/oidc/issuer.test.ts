import type { JWTPayload } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OidcProvider } from '../../support/oidc-provider.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';

const ANNA = { sub: 'anna', email: 'anna@example.com', email_verified: true };
const JWKS = '/jwks';
const DISCOVERY = '/.well-known/openid-configuration';

let clock: SkippingClock;
let provider: OidcProvider;
let plane: RunningControlPlane;

beforeEach(async () => {
  clock = new SkippingClock();
  provider = await OidcProvider.start({});
  plane = await RunningControlPlane.start(clock, provider.env);
  await plane.call('POST', '/members', { name: 'anna', access: ['viewer'], email: 'anna@example.com' });
});
afterEach(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const mint = async (claims: JWTPayload = {}): Promise<string> => {
  const now = Math.floor(clock.now().getTime() / 1000);
  return await provider.mint({ ...ANNA, iat: now, exp: now + 86_400, ...claims });
};
const me = async (token: string): Promise<Answer> => await plane.call('GET', '/me', undefined, { token });

describe('the keys of the issuer', () => {
  it('are read once, when they are first needed, however many ask', async () => {
    expect(provider.seen[JWKS]).toBeUndefined();
    const token = await mint();
    const answers = await Promise.all(Array.from({ length: 20 }, async () => await me(token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(provider.seen).toMatchObject({ [DISCOVERY]: 1, [JWKS]: 1 });
  });

  it('count as soon as they are new, and no longer when they are taken back', async () => {
    const old = await mint();
    expect((await me(old)).status).toBe(200);
    clock.skip(31_000);
    await provider.rotateKeys();
    expect((await me(await mint())).status).toBe(200);
    expect(await me(old)).toMatchObject({ status: 401, body: { message: expect.stringContaining('no such key') } });
    expect(provider.seen[JWKS]).toBe(2);
  });

  it('are known by more than one at a time', async () => {
    const old = await mint();
    await provider.rotateKeys({ keepsOld: true });
    for (const token of [old, await mint()]) expect((await me(token)).status).toBe(200);
    expect(provider.seen[JWKS]).toBe(1);
  });

  it('are asked for at most once in 30 s, whatever keys are named', async () => {
    expect((await me(await mint())).status).toBe(200);
    const [, claims, signature] = (await mint()).split('.');
    const storm = Array.from({ length: 50 }, async (_, index) => {
      const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: `made-up-${index}` })).toString('base64url');
      return await me(`${header}.${claims}.${signature}`);
    });
    for (const { status } of await Promise.all(storm)) expect(status).toBe(401);
    expect(provider.seen[JWKS]).toBe(1);
    clock.skip(31_000);
    const again = Array.from({ length: 20 }, async () => {
      const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'made-up' })).toString('base64url');
      return await me(`${header}.${claims}.${signature}`);
    });
    for (const { status } of await Promise.all(again)) expect(status).toBe(401);
    expect(provider.seen[JWKS]).toBe(2);
    expect(provider.seen[DISCOVERY]).toBe(1);
  });

  it('that were taken back end with the next look, also where nobody names another', async () => {
    const old = await mint();
    expect((await me(old)).status).toBe(200);
    await provider.rotateKeys();
    clock.skip(301_000);
    // Also the first after a quiet time, which the look is waited for.
    expect((await me(old)).status).toBe(401);
  });

  it('that were taken back end after a quiet time too where the issuer could not be read before it', async () => {
    const old = await mint();
    expect((await me(old)).status).toBe(200);
    provider.breakDown();
    clock.skip(301_000);
    expect((await me(old)).status).toBe(200);
    provider.breakDown(false);
    await provider.rotateKeys();
    clock.skip(3_600_000);
    expect((await me(old)).status).toBe(401);
  });
});

describe('while the issuer is down', () => {
  it('keys that are known go on counting, and tokens of the control plane always do', async () => {
    const token = await mint();
    expect((await me(token)).status).toBe(200);
    await provider.down();
    clock.skip(7_200_000);
    expect((await me(token)).status).toBe(200);
    expect((await me(token)).status).toBe(200);
    expect((await plane.call('GET', '/me')).body['via']).toBe('token');
  });

  it('a token whose key is not known is told to come again, and comes in when it is back', async () => {
    expect((await me(await mint())).status).toBe(200);
    clock.skip(31_000);
    await provider.rotateKeys();
    const token = await mint();
    provider.breakDown();
    expect(await me(token)).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    provider.breakDown(false);
    clock.skip(31_000);
    expect((await me(token)).status).toBe(200);
  });

  it('nobody comes in by it who starts then, who is told how to come in, and the issuer is not stormed', async () => {
    const token = await mint();
    provider.breakDown();
    const answers = await Promise.all(Array.from({ length: 30 }, async () => await me(token)));
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 503,
        body: { error: 'unavailable', message: expect.stringMatching(/answers 503.*token of the control plane/) },
      });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(provider.seen[DISCOVERY]).toBe(1);
    expect((await plane.call('GET', '/login', undefined, { token: null })).body).toEqual({
      token: true,
      oidcFault: expect.stringContaining('answers 503'),
    });
    provider.breakDown(false);
    clock.skip(31_000);
    expect((await me(token)).status).toBe(200);
  });
});

describe('GET /login', () => {
  it('says without a token where and as what to sign in', async () => {
    const { status, body } = await plane.call('GET', '/login', undefined, { token: null });
    expect(status).toBe(200);
    expect(body).toEqual({
      token: true,
      oidc: {
        issuer: provider.issuer,
        clientId: 'servicectl',
        audience: 'servicectl',
        scopes: ['openid', 'email', 'profile', 'offline_access'],
        authorizationEndpoint: `${provider.issuer}/auth`,
        tokenEndpoint: `${provider.issuer}/token`,
        deviceAuthorizationEndpoint: `${provider.issuer}/device/auth`,
      },
    });
  });

  it('says that only tokens count where there is no identity provider', async () => {
    await using other = await RunningControlPlane.start();
    expect((await other.call('GET', '/login', undefined, { token: null })).body).toEqual({ token: true });
    expect(await other.call('GET', '/me', undefined, { token: await mint() })).toMatchObject({
      status: 401,
      body: { error: 'invalid_token' },
    });
  });
});
