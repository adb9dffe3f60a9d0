import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { OidcProvider } from '../support/oidc-provider.ts';

let plane: RunningControlPlane;
let provider: OidcProvider;

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

async function words(command: string): ReturnType<typeof run> {
  return await run(...command.split(' '));
}

beforeAll(async () => {
  provider = await OidcProvider.start({});
  plane = await RunningControlPlane.start(systemClock, provider.env);
  writeFileSync(join(plane.folder, 'token'), plane.token);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

describe('servicectl members', () => {
  it('says how to add one where there is none', async () => {
    expect(await words('members list')).toMatchObject({ code: 0, err: expect.stringContaining('members add NAME') });
  });

  it('adds, shows, lists, changes and removes', async () => {
    const added = await words('members add anna --access deployer,approver --role ops --email anna@example.com');
    expect(added).toMatchObject({ code: 0, err: '' });
    expect(added.out).toMatch(/Access +approver, deployer\n/);
    expect((await words('members list')).out).toMatch(
      /^anna +approver,deployer +ops +anna@example.com +not signed in/m,
    );
    expect((await words('members list -o name')).out).toBe('anna\n');
    const set = await words('members set anna --access viewer --clear-roles --clear-email --subject s-1 -o json');
    const { email, roles, access, oidc } = JSON.parse(set.out);
    expect({ email, roles, access, oidc }).toEqual({
      roles: [],
      access: ['viewer'],
      oidc: { issuer: provider.issuer, subject: 's-1' },
    });
    expect((await words('members show anna')).out).toMatch(/Subject +s-1 of http/);
    expect((await words('members set anna --unbind -o yaml')).out).not.toContain('oidc');
    expect(await words('members set anna --disable')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/nothing was done. This keeps anna out.*\n.*--yes/),
    });
    expect((await words('members set anna --disable --yes')).out).toMatch(/Disabled +20/);
    expect((await words('members set anna --enable')).out).not.toMatch(/Disabled/);
    expect((await words('members remove anna')).code).toBe(2);
    expect(await words('members remove anna --yes')).toEqual({ code: 0, out: 'member anna is removed\n', err: '' });
    expect(await words('members show anna')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/there is no member anna .*\nSee which members there are: servicectl members list/),
    });
  });

  it.for([
    ['members add anna', /nothing says what the member may do.*\nAdd --access, one of: viewer, deployer/],
    ['members add anna --access root', /'root' is none of viewer, deployer, approver, admin/],
    ['members set anna', /nothing was given to change/],
    ['members set anna --enable --disable', /cannot be used with option/],
    ['admin-tokens create x --scope all', /'all' is none of read, deploy/],
    ['organizations create team-b', /--admin <name>/],
  ] as const)('%s says what is wrong with it', async ([command, says]) => {
    expect(await words(command)).toMatchObject({ code: 2, err: expect.stringMatching(says) });
  });
});

describe('servicectl admin-tokens', () => {
  it('makes tokens of members, and such that may do less', async () => {
    await words('members add bert --access deployer');
    const token = (await words('admin-tokens create bert-ci --member bert --scope read,deploy --expires-in 30d')).out;
    const me = await plane.call('GET', '/me', undefined, { token: token.trim() });
    expect(me.body).toMatchObject({ name: 'bert', scopes: ['read', 'deploy'] });
    expect((await words('admin-tokens create robot --access viewer')).code).toBe(0);
    const { out } = await words('admin-tokens list');
    expect(out).toMatch(/^bert-ci +bert +deploy,read +- +20\S+ +20\S+ +20\S+$/m);
    expect(out).toMatch(/^robot +- +viewer +- +20\S+ +never +-$/m);
    expect(out).not.toContain(token.trim());
  });
});

describe('servicectl organizations', () => {
  it('makes one with the token of its first admin, lists and deletes it', async () => {
    const made = await words('organizations create team-b --admin boss');
    expect(made).toEqual({ code: 0, out: expect.stringMatching(/^svcadm_\S+\n$/), err: '' });
    const me = await plane.call('GET', '/me', undefined, { token: made.out.trim() });
    expect(me.body).toMatchObject({ name: 'boss', organization: { name: 'team-b' } });
    expect((await words('organizations list -o name')).out).toBe('default\nteam-b\n');
    expect((await words('organizations admin-token team-b')).out).toMatch(/^svcadm_\S+\n$/);
    expect((await words('organizations delete team-b')).code).toBe(2);
    expect(await words('organizations delete team-b --yes')).toMatchObject({ code: 0 });
    expect((await words('organizations list -o name')).out).toBe('default\n');
  });
});
