import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';

const clock = new SkippingClock();
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

type As = { readonly token?: string };
const add = async (member: object, as: As = {}): Promise<Answer> => await plane.call('POST', '/members', member, as);
const change = async (name: string, body: object, as: As = {}): Promise<Answer> =>
  await plane.call('PATCH', `/members/${name}`, body, as);
const newToken = async (body: object, as: As = {}): Promise<Answer> =>
  await plane.call('POST', '/admin-tokens', body, as);
const me = async (token: string): Promise<Answer> => await plane.call('GET', '/me', undefined, { token });
const refused = (status: number, error: string, message: RegExp | string) => ({
  status,
  body: { error, message: typeof message === 'string' ? message : expect.stringMatching(message) },
});

describe('members', () => {
  it('are added, shown, listed, changed and removed', async () => {
    const anna = { name: 'anna', access: ['deployer', 'approver'], roles: ['security'], email: 'Anna@Example.com' };
    const made = await add({ ...anna, displayName: 'Anna Ärmel' });
    const view = {
      name: 'anna',
      displayName: 'Anna Ärmel',
      email: 'anna@example.com',
      access: ['approver', 'deployer'],
      roles: ['security'],
      createdAt: expect.any(String),
    };
    expect([made.status, made.body]).toEqual([201, view]);
    expect((await plane.call('GET', '/members/anna')).body).toEqual(view);
    expect((await plane.call('GET', '/members')).body).toEqual({ items: [view] });
    const changed = await change('anna', { displayName: null, access: ['viewer'], roles: [] });
    expect(changed.body).toEqual({ ...view, displayName: undefined, access: ['viewer'], roles: [] });
    const { body: audit } = await plane.call('GET', '/audit?kind=MemberChanged');
    expect(audit['items'][0]['summary']).toBe(
      'member anna is now: access viewer; no role to approve as; address anna@example.com; was: access approver, deployer; approves as security; address anna@example.com',
    );
    // The same again changes nothing.
    await change('anna', { access: ['viewer'] });
    expect((await plane.call('GET', '/audit?kind=MemberChanged')).body['items']).toHaveLength(1);
    expect((await plane.call('DELETE', '/members/anna')).status).toBe(204);
    expect(await plane.call('GET', '/members/anna')).toMatchObject(
      refused(404, 'not_found', 'there is no member anna'),
    );
  });

  it('are changed by who has looked at them as they are', async () => {
    await add({ name: 'tagged', access: ['viewer'] });
    const { headers } = await plane.call('GET', '/members/tagged');
    const tag = { headers: { 'if-match': headers.get('etag') ?? '' } };
    await change('tagged', { access: ['deployer'] });
    const late = await plane.call('PATCH', '/members/tagged', { access: ['admin'] }, tag);
    expect(late).toMatchObject(refused(412, 'precondition_failed', /member tagged was changed since it was read/));
    expect((await plane.call('DELETE', '/members/tagged', undefined, tag)).status).toBe(412);
  });

  it.for([
    ['the name of another', { name: 'bert' }, 409, '/name'],
    ['the name of a token', { name: 'robot' }, 409, '/name'],
    ['the name of the configured token', { name: 'admin' }, 400, '/name'],
    ['the name of the first token', { name: 'first-admin' }, 400, '/name'],
    ['the address of another, in other letters', { name: 'b', email: 'BERT@example.com' }, 409, '/email'],
    ['the subject of another', { name: 'b', oidc: { issuer: 'https://id', subject: '1' } }, 409, '/oidc/subject'],
    ['an address that is none', { name: 'b', email: 'bert' }, 400, '/email'],
    ['no access', { name: 'b', access: [] }, 400, '/access'],
    ['access that is none', { name: 'b', access: ['root'] }, 400, '/access/0'],
    ['a name that turns text around', { name: 'b', displayName: 'a\u202eb' }, 400, '/displayName'],
  ] as const)('are not added with %s', async ([, body, status, path]) => {
    await add({
      name: 'bert',
      access: ['viewer'],
      email: 'bert@example.com',
      oidc: { issuer: 'https://id', subject: '1' },
    });
    await newToken({ name: 'robot' });
    const answer = await add({ access: ['viewer'], ...body });
    expect(answer).toMatchObject({ status, body: { faults: [expect.objectContaining({ path })] } });
  });
});

describe("a member's token", () => {
  let token: string;
  beforeAll(async () => {
    await add({ name: 'carl', access: ['deployer'], roles: ['ops'] });
    const made = await newToken({ name: 'carl-laptop', member: 'carl' });
    expect(made).toMatchObject({ status: 201, body: { member: 'carl', access: ['deployer'], roles: ['ops'] } });
    token = String(made.body['token']);
  });

  it('acts under the name of the member, as whom it is seen', async () => {
    expect((await me(token)).body).toMatchObject({ name: 'carl', member: true, roles: ['ops'], access: ['deployer'] });
    const { body: member } = await plane.call('GET', '/members/carl');
    expect(member['lastSeenAt']).toEqual(expect.any(String));
    const { body: list } = await plane.call('GET', '/admin-tokens?limit=500');
    const shown = list['items'].find(({ name }: { name: string }) => name === 'carl-laptop');
    expect(shown).toMatchObject({ lastUsedAt: member['lastSeenAt'], member: 'carl' });
  });

  it('follows what the member may do, and is never above', async () => {
    const narrow = await newToken({ name: 'carl-robot', member: 'carl', access: ['viewer'] });
    const much = await newToken({ name: 'carl-much', member: 'carl', access: ['admin'], scopes: ['read', 'catalog'] });
    const scopes = async (of: Answer) => (await me(String(of.body['token']))).body['scopes'];
    expect([await scopes(narrow), await scopes(much)]).toEqual([['read'], ['read']]);
    await change('carl', { access: ['admin'] });
    expect([await scopes(narrow), await scopes(much)]).toEqual([['read'], ['read', 'catalog']]);
    expect((await me(token)).body['access']).toEqual(['admin']);
    await change('carl', { access: ['deployer'] });
    expect((await me(token)).body['scopes']).toEqual(['read', 'deploy']);
  });

  it('does not count while the member is disabled, and ends with the member', async () => {
    await change('carl', { disabled: true });
    expect(await me(token)).toMatchObject(refused(403, 'forbidden', /carl is disabled; ask an admin/));
    expect(await newToken({ name: 'carl-2', member: 'carl' })).toMatchObject(refused(409, 'conflict', /is disabled/));
    await change('carl', { disabled: false });
    expect((await me(token)).status).toBe(200);
    await plane.call('DELETE', '/members/carl');
    expect(await me(token)).toMatchObject(refused(401, 'invalid_token', /not an admin token/));
    await add({ name: 'carl', access: ['deployer'] });
    expect((await me(token)).status).toBe(401);
  });

  it.for([
    ['of nobody', { name: 'x', member: 'nobody' }, 404, /no member nobody/],
    ['with roles of its own', { name: 'x', member: 'dora', roles: ['ops'] }, 400, /roles/],
    ['with the name of another member', { name: 'dora', member: 'carl' }, 409, /is a member/],
    ['that is its own, with the name of a member', { name: 'dora' }, 409, /is a member/],
  ] as const)('is not made %s', async ([, body, status, says]) => {
    await add({ name: 'dora', access: ['viewer'] });
    const answer = await newToken(body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringMatching(says)]);
  });

  it('may have the name of its own member', async () => {
    await add({ name: 'emil', access: ['viewer'] });
    expect((await newToken({ name: 'emil', member: 'emil' })).status).toBe(201);
  });
});

describe('nobody gives more than he or she has', () => {
  let limited: As;
  beforeAll(async () => {
    const made = await newToken({ name: 'limited', scopes: ['read', 'deploy', 'organization'] });
    limited = { token: String(made.body['token']) };
    await add({ name: 'boss', access: ['admin'], email: 'boss@example.com' });
  });

  it.for([
    ['a token', async () => await newToken({ name: 'more' }, limited)],
    ['a token of an admin', async () => await newToken({ name: 'more', member: 'boss' }, limited)],
    ['a member', async () => await add({ name: 'more', access: ['approver'] }, limited)],
    ['access', async () => await change('anton', { access: ['admin'] }, limited)],
    ['the address of an admin, to be that one', async () => await change('boss', { email: 'me@example.com' }, limited)],
    [
      'the subject of an admin',
      async () => await change('boss', { oidc: { issuer: 'https://id', subject: 'me' } }, limited),
    ],
    ['less to an admin', async () => await change('boss', { access: ['viewer'] }, limited)],
    ['the end of an admin', async () => await plane.call('DELETE', '/members/boss', undefined, limited)],
    ["the end of an admin's token", async () => await plane.call('DELETE', '/admin-tokens/robot', undefined, limited)],
  ] as const)('%s', async ([, act]) => {
    await add({ name: 'anton', access: ['viewer'] });
    expect(await act()).toMatchObject(refused(403, 'forbidden', /could do more than you: .*approve/));
  });

  it('an organization, where he or she is not an admin of default', async () => {
    const refusal = refused(403, 'forbidden', /only an admin of the organization default/);
    const body = { name: 'mine', adminName: 'me' };
    expect(await plane.call('POST', '/organizations', body, limited)).toMatchObject(refusal);
    expect(await plane.call('DELETE', '/organizations/mine', undefined, limited)).toMatchObject(refusal);
  });

  it('but what he or she has', async () => {
    expect((await newToken({ name: 'less', access: ['deployer'] }, limited)).status).toBe(201);
    expect((await add({ name: 'less-member', access: ['deployer'] }, limited)).status).toBe(201);
  });
});

describe('the last administrator', () => {
  let as: As;
  let count = 0;
  beforeEach(() => {
    as = { token: plane.addOrganization(`last-${(count += 1)}`) };
  });
  const lastOne = /is the last one who can administer the organization.*Let another one in first/;

  it('is no token that ends within a day, and no such token is the end of the last one that counts', async () => {
    const own = `/admin-tokens/last-${count}-admin`;
    const short = { token: String((await newToken({ name: 'short', expiresInSeconds: 60 }, as)).body['token']) };
    expect(await plane.call('DELETE', own, undefined, short)).toMatchObject(refused(409, 'conflict', lastOne));
    await newToken({ name: 'long', expiresInSeconds: 2 * 86_400 }, as);
    expect((await plane.call('DELETE', own, undefined, short)).status).toBe(204);
    expect(await plane.call('DELETE', '/admin-tokens/long', undefined, short)).toMatchObject(
      refused(409, 'conflict', lastOne),
    );
  });

  it('is a token that is its own, whatever viewers there are', async () => {
    await newToken({ name: 'looker', access: ['viewer'] }, as);
    await newToken({ name: 'narrow', scopes: ['read', 'organization'] }, as);
    await add({ name: 'nobody-yet', access: ['admin'], email: 'a@example.com' }, as);
    const own = `/admin-tokens/last-${count}-admin`;
    expect(await plane.call('DELETE', own, undefined, as)).toMatchObject(refused(409, 'conflict', lastOne));
    await newToken({ name: 'brief', expiresInSeconds: 60 }, as);
    clock.skip(61_000);
    expect((await plane.call('DELETE', own, undefined, as)).status).toBe(409);
    await newToken({ name: 'next' }, as);
    expect((await plane.call('DELETE', own, undefined, as)).status).toBe(204);
  });

  it('is a member, who cannot be removed, disabled or demoted, nor lose the token', async () => {
    await add({ name: 'boss', access: ['admin'] }, as);
    const made = await newToken({ name: 'boss-laptop', member: 'boss' }, as);
    const boss = { token: String(made.body['token']) };
    expect((await plane.call('DELETE', `/admin-tokens/last-${count}-admin`, undefined, boss)).status).toBe(204);
    for (const answer of [
      await plane.call('DELETE', '/members/boss', undefined, boss),
      await change('boss', { disabled: true }, boss),
      await change('boss', { access: ['deployer'] }, boss),
      await plane.call('DELETE', '/admin-tokens/boss-laptop', undefined, boss),
    ]) {
      expect(answer).toMatchObject(refused(409, 'conflict', lastOne));
    }
    expect((await me(boss.token)).body['access']).toEqual(['admin']);
    await add({ name: 'second', access: ['admin'] }, boss);
    await newToken({ name: 'second-laptop', member: 'second' }, boss);
    expect((await change('boss', { access: ['viewer'] }, boss)).status).toBe(200);
  });
});
