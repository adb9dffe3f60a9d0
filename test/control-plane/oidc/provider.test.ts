import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OIDC_AUDIENCE, OIDC_CLIENT, OidcProvider } from '../../support/oidc-provider.ts';
import { SignInPages } from '../../support/sign-in-pages.ts';

let provider: OidcProvider;

beforeAll(async () => {
  provider = await OidcProvider.start({ anna: { email: 'anna@example.com', email_verified: true } });
});
afterAll(async () => await provider[Symbol.asyncDispose]());

type Body = Readonly<Record<string, string>>;

async function post(path: string, form: Readonly<Record<string, string>>): Promise<[number, Body]> {
  const answer = await fetch(`${provider.issuer}${path}`, { method: 'POST', body: new URLSearchParams(form) });
  return [answer.status, (await answer.json()) as Body];
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

describe('the identity provider of the tests', () => {
  it('signs in by the device flow, with an ID token and an access token that say the address', async () => {
    const scope = 'openid email offline_access';
    const [, device] = await post('/device/auth', { client_id: OIDC_CLIENT, scope });
    const code = { client_id: OIDC_CLIENT, grant_type: DEVICE_GRANT, device_code: device['device_code'] ?? '' };
    expect(await post('/token', code)).toMatchObject([400, { error: 'authorization_pending' }]);
    const page = await new SignInPages('anna').follow(device['verification_uri_complete'] ?? '');
    expect(page.text).toContain('Sign-in Success');
    const [status, tokens] = await post('/token', code);
    expect([status, tokens['refresh_token'] !== undefined]).toEqual([200, true]);
    const anna = { sub: 'anna', email: 'anna@example.com', email_verified: true, iss: provider.issuer };
    expect(decodeJwt(tokens['id_token'] ?? '')).toMatchObject({ ...anna, aud: OIDC_CLIENT });
    expect(decodeJwt(tokens['access_token'] ?? '')).toMatchObject({ ...anna, aud: OIDC_AUDIENCE });
    const refresh = { client_id: OIDC_CLIENT, grant_type: 'refresh_token' };
    expect(await post('/token', { ...refresh, refresh_token: tokens['refresh_token'] ?? '' })).toMatchObject([
      200,
      { id_token: expect.any(String) },
    ]);
  });

  it('says so when the person refuses the device', async () => {
    const [, device] = await post('/device/auth', { client_id: OIDC_CLIENT, scope: 'openid email' });
    await new SignInPages('anna', { isRefusing: true }).follow(device['verification_uri_complete'] ?? '');
    const code = { client_id: OIDC_CLIENT, grant_type: DEVICE_GRANT, device_code: device['device_code'] ?? '' };
    expect(await post('/token', code)).toMatchObject([400, { error: 'access_denied' }]);
  });

  it('signs in by the code flow with PKCE', async () => {
    const verifier = randomBytes(32).toString('base64url');
    const redirect = 'http://127.0.0.1:4711/callback';
    const asked = new URLSearchParams({
      client_id: OIDC_CLIENT,
      response_type: 'code',
      scope: 'openid email',
      redirect_uri: redirect,
      state: 'here',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const { url } = await new SignInPages('anna').follow(`${provider.issuer}/auth?${asked.toString()}`);
    expect(url.startsWith(redirect)).toBe(true);
    const back = new URL(url).searchParams;
    expect(back.get('state')).toBe('here');
    const grant = { client_id: OIDC_CLIENT, grant_type: 'authorization_code', redirect_uri: redirect };
    const [, tokens] = await post('/token', { ...grant, code: back.get('code') ?? '', code_verifier: verifier });
    expect(decodeJwt(tokens['id_token'] ?? '')).toMatchObject({ sub: 'anna', email: 'anna@example.com' });
  });
});
