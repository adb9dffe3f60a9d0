import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OidcProvider } from '../../support/oidc-provider.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';

const clock = new SkippingClock();
let provider: OidcProvider;
let plane: RunningControlPlane;
const admins: Record<'aaa' | 'team-z', { readonly token?: string }> = { aaa: {}, 'team-z': {} };
let count = 0;
let vic: string;
let token: string;

beforeAll(async () => {
  provider = await OidcProvider.start({});
  plane = await RunningControlPlane.start(clock, provider.env);
  for (const name of ['aaa', 'team-z'] as const) admins[name] = { token: plane.addOrganization(name) };
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(async () => {
  vic = `vic-${(count += 1)}`;
  const now = Math.floor(clock.now().getTime() / 1000);
  const email = `${vic}@example.com`;
  token = await provider.mint({ sub: vic, email, email_verified: true, iat: now, exp: now + 600 });
});

const call = async (path: string, organization?: string): Promise<Answer> =>
  await plane.call('GET', path, undefined, {
    token,
    headers: organization === undefined ? {} : { 'service-organization': organization },
  });
const addTo = async (organization: 'aaa' | 'team-z', given: object = {}): Promise<Answer> => {
  const member = { name: vic, access: ['admin'], email: `${vic}@example.com`, ...given };
  return await plane.call('POST', '/members', member, admins[organization]);
};
const names = ({ body }: Answer): string[] => body['organizations'].map(({ name }: { name: string }) => name);

describe('a member of one organization whom the admin of another adds', () => {
  beforeEach(async () => {
    await addTo('team-z');
    expect((await call('/me')).body['organization']).toMatchObject({ name: 'team-z' });
  });

  it.for([
    ['by address', { subject: false }],
    ['by subject', { email: undefined, subject: true }],
  ] as const)('stays where he or she was, %s', async ([, { subject, ...given }]) => {
    const oidc = { issuer: provider.issuer, subject: vic };
    expect((await addTo('aaa', { ...given, ...(subject ? { oidc } : {}) })).status).toBe(201);
    const me = await call('/me');
    expect(me.body['organization']).toMatchObject({ name: 'team-z' });
    expect(names(me)).toEqual(['aaa', 'team-z']);
    expect((await call('/clusters')).status).toBe(200);
    // The one that was not chosen did not get the subject.
    const { body } = await plane.call('GET', `/members/${vic}`, undefined, admins.aaa);
    expect([body['oidc'], body['lastSeenAt']]).toEqual([subject ? oidc : undefined, undefined]);
  });

  it('comes in there by naming it, and from then on says which is meant', async () => {
    await addTo('aaa', { access: ['viewer'] });
    expect((await call('/me', 'aaa')).body).toMatchObject({ organization: { name: 'aaa' }, access: ['viewer'] });
    expect(await call('/clusters')).toMatchObject({
      status: 403,
      body: { error: 'forbidden', message: expect.stringMatching(/aaa, team-z; .*Service-Organization/) },
    });
    expect((await call('/clusters', 'team-z')).status).toBe(200);
    expect((await call('/me')).body).toEqual({
      name: `${vic}@example.com`,
      member: true,
      organizations: [
        { id: expect.any(String), name: 'aaa' },
        { id: expect.any(String), name: 'team-z' },
      ],
      access: [],
      roles: [],
      scopes: [],
      tokenExpiresAt: expect.any(String),
      via: 'oidc',
    });
  });

  it('is not sent there where the own organization shuts him or her out', async () => {
    await addTo('aaa');
    await plane.call('PATCH', `/members/${vic}`, { disabled: true }, admins['team-z']);
    expect(await call('/me')).toMatchObject({ status: 403, body: { message: expect.stringContaining('disabled') } });
  });

  it('is not taken over by putting the subject on a member who was seen before', async () => {
    await addTo('aaa', { name: 'evil', email: `evil-${vic}@example.com` });
    const now = Math.floor(clock.now().getTime() / 1000);
    const claims = { sub: `evil-${vic}`, email: `evil-${vic}@example.com`, email_verified: true };
    const evil = await provider.mint({ ...claims, iat: now, exp: now + 600 });
    expect((await plane.call('GET', '/me', undefined, { token: evil })).status).toBe(200);
    const as = admins.aaa;
    const oidc = { issuer: provider.issuer, subject: vic };
    expect((await plane.call('PATCH', '/members/evil', { oidc }, as)).status).toBe(200);
    expect((await call('/me')).body['organization']).toMatchObject({ name: 'team-z' });
    await plane.call('DELETE', '/members/evil', undefined, as);
  });
});

describe('whom several organizations added before the first sign-in', () => {
  it.for([
    ['by address', { subject: false }],
    ['by subject', { email: undefined, subject: true }],
  ] as const)('chooses, and is bound in none before, %s', async ([, { subject, ...given }]) => {
    await addTo('team-z');
    const oidc = { issuer: provider.issuer, subject: vic };
    await addTo('aaa', { ...given, ...(subject ? { oidc } : {}) });
    expect((await call('/clusters')).status).toBe(403);
    const me = await call('/me');
    expect([me.body['organization'], names(me)]).toEqual([undefined, ['aaa', 'team-z']]);
    const bound = plane.query(`SELECT kind FROM audit WHERE kind = 'MemberBound' AND actor = '${vic}'`);
    expect(bound).toEqual([]);
    expect((await call('/me', 'team-z')).body['organization']).toMatchObject({ name: 'team-z' });
    expect((await call('/me')).body['organization']).toMatchObject({ name: 'team-z' });
  });
});
