import { createHmac } from 'node:crypto';
import { generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OIDC_AUDIENCE, OIDC_CLIENT, OidcProvider } from '../../support/oidc-provider.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';

const clock = new SkippingClock();
const ANNA = { sub: 'anna', email: 'anna@example.com', email_verified: true };

let provider: OidcProvider;
let plane: RunningControlPlane;

beforeAll(async () => {
  provider = await OidcProvider.start({ anna: { email: 'anna@example.com', email_verified: true } });
  plane = await RunningControlPlane.start(clock, provider.env);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const now = (): number => Math.floor(clock.now().getTime() / 1000);
const mint = async (claims: JWTPayload): Promise<string> =>
  await provider.mint({ iat: now(), exp: now() + 600, ...claims });
const me = async (token: string, headers = {}): Promise<Answer> =>
  await plane.call('GET', '/me', undefined, { token, headers });
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const add = async (member: object): Promise<Answer> => await plane.call('POST', '/members', member);

describe('a token of the identity provider', () => {
  beforeAll(async () => void (await add({ name: 'anna', access: ['deployer'], email: 'Anna@Example.com' })));

  it('lets in the member whose verified address it says, who is its subject from then on', async () => {
    const answer = await me(await mint(ANNA));
    expect(answer).toMatchObject({
      status: 200,
      body: { name: 'anna', member: true, access: ['deployer'], scopes: ['read', 'deploy'], via: 'oidc' },
    });
    const { body: member } = await plane.call('GET', '/members/anna');
    expect(member).toMatchObject({
      oidc: { issuer: provider.issuer, subject: 'anna' },
      lastSeenAt: expect.any(String),
    });
    const { body: audit } = await plane.call('GET', '/audit?kind=MemberBound');
    expect(audit['items']).toMatchObject([{ actor: 'anna', summary: expect.stringContaining('anna@example.com') }]);
    // The address may be somebody else's later; the subject stays.
    expect((await me(await mint({ sub: 'anna', email: 'new@example.com', email_verified: true }))).status).toBe(200);
    expect((await me(await mint({ sub: 'anna' }))).status).toBe(200);
  });

  it('acts under the name of the member, with no more than the member may', async () => {
    const token = await mint(ANNA);
    const refused = await plane.call('PUT', '/catalog/x', {}, { token });
    expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    expect(refused.body['message']).toContain('needs the scope catalog, and anna has only read, deploy');
  });

  const WRONG: readonly (readonly [name: string, make: () => Promise<string>, code: string, says: RegExp])[] = [
    [
      'of another issuer',
      async () => await mint({ ...ANNA, iss: 'https://id.example.com' }),
      'invalid_token',
      /issuer/,
    ],
    ['for somebody else', async () => await mint({ ...ANNA, aud: OIDC_AUDIENCE }), 'invalid_token', /audience/],
    ['without an audience', async () => await mint({ ...ANNA, aud: [] }), 'invalid_token', /audience/],
    ['that expired', async () => await mint({ ...ANNA, exp: now() - 61 }), 'expired_token', /sign in again/],
    [
      'that does not count yet',
      async () => await mint({ ...ANNA, nbf: now() + 120 }),
      'invalid_token',
      /not count yet/,
    ],
    ['without a subject', async () => await mint({ ...ANNA, sub: '' }), 'invalid_token', /subject/],
    [
      'without an end',
      async () => await signed({ ...ANNA, iss: provider.issuer, aud: OIDC_CLIENT }),
      'invalid_token',
      /no such key|exp/,
    ],
    ['signed by nobody', async () => unsigned(), 'invalid_token', /algorithm/],
    ['signed with what is public', async () => await hmac(), 'invalid_token', /algorithm/],
    ["signed with somebody else's key", async () => await signed(full()), 'invalid_token', /no such key/],
    [
      'with a forged signature',
      async () => `${(await mint(ANNA)).split('.').slice(0, 2).join('.')}.${'A'.repeat(342)}`,
      'invalid_token',
      /signature/,
    ],
    ['whose claims were changed', async () => await changed(), 'invalid_token', /signature/],
    [
      'that is for a logout',
      async () => await provider.mint(full(), { typ: 'logout+jwt' }),
      'invalid_token',
      /logout\+jwt/,
    ],
    ['that is none', async () => 'a.b.c', 'invalid_token', /cannot be read|algorithm/],
  ];
  it.for(WRONG)('is refused %s', async ([, make, error, says]) => {
    const answer = await me(await make());
    expect(answer).toMatchObject({ status: 401, body: { error, message: expect.stringMatching(says) } });
  });

  it('counts a minute before and after its time, as clocks differ', async () => {
    expect((await me(await mint({ ...ANNA, exp: now() - 55 }))).status).toBe(200);
    expect((await me(await mint({ ...ANNA, nbf: now() + 55 }))).status).toBe(200);
  });

  const full = (): JWTPayload => ({ ...ANNA, iss: provider.issuer, aud: OIDC_CLIENT, iat: now(), exp: now() + 600 });
  const unsigned = (): string => `${base64({ alg: 'none', typ: 'JWT' })}.${base64(full())}.`;
  const changed = async (): Promise<string> => {
    const [header, , signature] = (await mint(ANNA)).split('.');
    return `${header}.${base64({ ...full(), sub: 'root' })}.${signature}`;
  };
  const hmac = async (): Promise<string> => {
    const keys = await (await fetch(`${provider.issuer}/jwks`)).text();
    const head = `${base64({ alg: 'HS256', typ: 'JWT' })}.${base64(full())}`;
    return `${head}.${createHmac('sha256', keys).update(head).digest('base64url')}`;
  };
  async function signed(claims: JWTPayload): Promise<string> {
    const { privateKey } = await generateKeyPair('RS256');
    return await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'mine' }).sign(privateKey);
  }
});

describe('whom nobody knows', () => {
  it.for([
    [
      'with an address',
      { email: 'eve@example.com', email_verified: true },
      /no member has the address eve@example.com/,
    ],
    [
      'with an address that is not verified',
      { email: 'bert@example.com', email_verified: false },
      /does not vouch for .*bert@/,
    ],
    [
      'with an address that is said to be verified in words',
      { email: 'bert@example.com', email_verified: 'true' },
      /vouch/,
    ],
    ['without an address', {}, /tell the subject an admin.* --subject stranger/],
  ] as const)('is told what to say to an admin, %s', async ([, claims, says]) => {
    await add({ name: 'bert', access: ['viewer'], email: 'bert@example.com' });
    const answer = await me(await mint({ sub: 'stranger', ...claims }));
    expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden', message: expect.stringMatching(says) } });
    expect((await plane.call('GET', '/members/bert')).body['oidc']).toBeUndefined();
  });

  it('cannot take over a member who is bound to another subject, by the same address', async () => {
    const answer = await me(await mint({ ...ANNA, sub: 'other-anna' }));
    expect(answer).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/bound to another subject.*--unbind/) },
    });
    expect((await plane.call('PATCH', '/members/anna', { oidc: null })).status).toBe(200);
    expect((await me(await mint({ ...ANNA, sub: 'other-anna' }))).body['name']).toBe('anna');
    expect((await me(await mint(ANNA))).status).toBe(403);
    const subject = { issuer: provider.issuer, subject: 'anna' };
    expect((await plane.call('PATCH', '/members/anna', { oidc: subject })).status).toBe(200);
    expect((await me(await mint(ANNA))).status).toBe(200);
  });

  it('does not come in by an address that only looks like that of a member once its letters are folded', async () => {
    await add({ name: 'kate', access: ['admin'], email: 'kate@example.com' });
    const kelvin = await mint({ sub: 'evil', email: '\u212Aate@example.com', email_verified: true });
    expect(await me(kelvin)).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    const kate = await me(await mint({ sub: 'kate', email: 'Kate@Example.com', email_verified: true }));
    expect(kate.body['name']).toBe('kate');
    const { body: audit } = await plane.call('GET', '/audit?kind=MemberBound&actor=kate');
    expect(audit['items']).toMatchObject([{ summary: expect.stringContaining('address Kate@Example.com') }]);
  });

  it('is who he or she is bound to, also with the address of another member', async () => {
    await add({ name: 'carl', access: ['viewer'], email: 'carl@example.com' });
    const answer = await me(await mint({ ...ANNA, email: 'carl@example.com' }));
    expect(answer.body['name']).toBe('anna');
    expect((await plane.call('GET', '/members/carl')).body['oidc']).toBeUndefined();
  });

  it('does not come in as a member that is disabled, bound or not', async () => {
    await add({ name: 'dora', access: ['viewer'], email: 'dora@example.com' });
    const token = await mint({ sub: 'dora', email: 'dora@example.com', email_verified: true });
    await plane.call('PATCH', '/members/dora', { disabled: true });
    expect(await me(token)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('dora is disabled') },
    });
    await plane.call('PATCH', '/members/dora', { disabled: false });
    expect((await me(token)).status).toBe(200);
    await plane.call('PATCH', '/members/dora', { disabled: true });
    expect((await me(token)).status).toBe(403);
    await plane.call('DELETE', '/members/dora');
    expect((await me(token)).body['message']).toContain('no member has the address');
  });
});

describe('a member of several organizations', () => {
  let token: string;
  beforeEach(async () => {
    token = await mint(ANNA);
  });

  it('says which is meant, and is where he or she came in before otherwise', async () => {
    // When somebody was seen is written down once a minute.
    clock.skip(61_000);
    expect((await me(token)).status).toBe(200);
    const made = await plane.call('POST', '/organizations', { name: 'team-b', adminName: 'boss' });
    const as = { token: String(made.body['adminToken']) };
    const member = { name: 'a-smith', access: ['viewer'], email: 'anna@example.com' };
    expect((await plane.call('POST', '/members', member, as)).status).toBe(201);
    expect((await me(token)).body).toMatchObject({
      name: 'anna',
      organization: { name: 'default' },
      organizations: [{ name: 'default' }, { name: 'team-b' }],
    });
    expect((await me(token, { 'service-organization': 'team-b' })).body).toMatchObject({
      name: 'a-smith',
      access: ['viewer'],
      organization: { name: 'team-b' },
    });
    expect(await me(token, { 'service-organization': 'team-c' })).toMatchObject({
      status: 403,
      body: { message: 'you are no member of the organization team-c, but of: default, team-b' },
    });
    const headers = { 'service-organization': 'default' };
    const { body } = await plane.call('GET', '/organizations', undefined, { token, headers });
    expect(body['items'].map(({ name }: { name: string }) => name)).toEqual(['default', 'team-b']);
  });

  it('cannot go elsewhere with a token of the control plane', async () => {
    const headers = { 'service-organization': 'team-b' };
    expect(await plane.call('GET', '/me', undefined, { headers })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('of the organization default') },
    });
    expect((await me(plane.token, { 'service-organization': 'default' })).status).toBe(200);
  });
});

describe('the last administrator', () => {
  it('is who is bound to a subject of this issuer, and nobody who is bound to another', async () => {
    const made = await plane.call('POST', '/organizations', { name: 'last', adminName: 'first' });
    const as = { token: String(made.body['adminToken']) };
    const boss = { name: 'boss', access: ['admin'], oidc: { issuer: 'https://old.example.com', subject: 'boss' } };
    expect((await plane.call('POST', '/members', boss, as)).status).toBe(201);
    const removeToken = async () => await plane.call('DELETE', '/admin-tokens/first', undefined, as);
    expect(await removeToken()).toMatchObject({ status: 409, body: { error: 'conflict' } });
    const oidc = { issuer: provider.issuer, subject: 'boss' };
    expect((await plane.call('PATCH', '/members/boss', { oidc }, as)).status).toBe(200);
    expect((await removeToken()).status).toBe(204);
    const token = await mint({ sub: 'boss' });
    expect(await plane.call('PATCH', '/members/boss', { oidc: null }, { token })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('member boss is the last one who can administer') },
    });
    expect((await me(token)).body).toMatchObject({ name: 'boss', organization: { name: 'last' } });
  });
});
