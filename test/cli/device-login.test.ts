import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Config } from '../../src/cli/cli-config.ts';
import type { CliDeps } from '../../src/cli/cli-deps.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { OidcProvider } from '../support/oidc-provider.ts';
import { SignInPages } from '../support/sign-in-pages.ts';
import { Home, type Ended } from './home.ts';

let provider: OidcProvider;
let plane: RunningControlPlane;
let home: Home;
/** How long each wait was meant to be. */
const waits: number[] = [];
const clock: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => {
    waits.push(ms);
    await systemClock.sleep(20, signal);
  },
};

beforeAll(async () => {
  provider = await OidcProvider.start({
    anna: { email: 'anna@example.com', email_verified: true },
    vera: { email: 'vera@example.com', email_verified: true },
  });
  plane = await RunningControlPlane.start(systemClock, provider.env);
  await plane.call('POST', '/members', { name: 'anna', access: ['viewer'], email: 'anna@example.com' });
  await plane.newCluster('here');
});
beforeEach(() => {
  home = new Home();
  waits.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** Logs in; the person opens the page that is named, wherever that is. */
async function logIn(pages: SignInPages, more: Partial<CliDeps> = {}): Promise<Ended> {
  let said = '';
  let opened: Promise<unknown> | undefined;
  const ended = await home.run(['login', plane.url, '--oidc', '--name', 'dev'], {
    ...more,
    clock,
    err: (text) => {
      said += text;
      const [, url] = /^or open (\S+)$/m.exec(said) ?? [];
      if (url !== undefined) opened ??= pages.follow(url);
    },
  });
  await opened;
  return { ...ended, err: said };
}

const config = (): Config => parse(readFileSync(home.config, 'utf8')) as Config;
const oidc = (): NonNullable<Config['contexts'][string]['oidc']> => {
  const login = config().contexts['dev']?.oidc;
  if (login === undefined) throw new Error('nobody is logged in');
  return login;
};
/** As it is once its token has ended. */
function expire(change: object = {}): void {
  const login = { ...oidc(), token: 'ended', expiresAt: '2026-01-01T00:00:00.000Z', ...change };
  writeFileSync(
    home.config,
    stringify({ currentContext: 'dev', contexts: { dev: { server: plane.url, oidc: login } } }),
  );
}
const tokenCalls = (): number => provider.seen['/token'] ?? 0;

describe('a login by the device flow', () => {
  it('says where to go and what to enter, and keeps tokens that are renewed when they have ended', async () => {
    const { code, out, err } = await logIn(new SignInPages('anna'));
    expect([code, out]).toEqual([
      0,
      `${plane.url}: logged in as anna of default, with read\ndev is the current context\n`,
    ]);
    expect(err).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\/device and enter [A-Z-]+\nor open http\S+\n$/);
    expect((await home.run(['whoami'])).out).toMatch(/^comes by +an identity provider$/m);
    expect(`${out}${err}`).not.toContain(oidc().token);
    const before = oidc().refreshToken;
    expire();
    expect(await home.run(['clusters', 'list', '-o', 'name'])).toEqual({ code: 0, out: 'here\n', err: '' });
    expect([oidc().token === 'ended', Date.parse(oidc().expiresAt ?? '') > Date.now()]).toEqual([false, true]);
    expect(before).toBeDefined();
  });

  it('renews once, though many commands find at once that the token has ended', async () => {
    await logIn(new SignInPages('anna'));
    expire();
    const before = tokenCalls();
    const all = await Promise.all(
      Array.from({ length: 6 }, async () => await home.run(['clusters', 'list', '-o', 'name'])),
    );
    expect(all).toEqual(all.map(() => ({ code: 0, out: 'here\n', err: '' })));
    expect(tokenCalls() - before).toBe(1);
    // A token that is not due yet, and is refused.
    expire({ expiresAt: '2099-01-01T00:00:00.000Z' });
    expect(await home.run(['clusters', 'list', '-o', 'name'])).toEqual({ code: 0, out: 'here\n', err: '' });
  });

  it('says so when the person refuses, or the login has ended at the issuer', async () => {
    const refused = await logIn(new SignInPages('anna', { isRefusing: true }));
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain('servicectl: the login was refused in the browser\n');
    await logIn(new SignInPages('anna'));
    expire({ refreshToken: 'of-yesterday' });
    const { code, err } = await home.run(['clusters', 'list']);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /^servicectl: the login has ended: http\S+ says invalid_grant.*\nLog in again: servicectl login \S+ --name dev --oidc\n$/,
      ),
    ]);
  });

  it('asks which of several organizations is meant, and keeps what was chosen', async () => {
    const vera = { name: 'vera', access: ['viewer'], email: 'vera@example.com' };
    await plane.call('POST', '/members', vera);
    await plane.call('POST', '/members', vera, { token: plane.addOrganization('other') });
    const unasked = await logIn(new SignInPages('vera'));
    expect([unasked.code, unasked.out]).toEqual([2, '']);
    expect(unasked.err).toContain(
      'you may be in several organizations: default, other\nChoose one: --organization NAME',
    );
    const questions: string[] = [];
    const ask = async (question: string): Promise<string> => {
      questions.push(question);
      return await Promise.resolve('other');
    };
    const { code } = await logIn(new SignInPages('vera'), { terminal: { ask, askHidden: ask } });
    expect([code, questions]).toEqual([0, ['Organization (default, other): ']]);
    expect(config().contexts['dev']?.organization).toBe('other');
  });

  it('is ended at the issuer by a logout', async () => {
    await logIn(new SignInPages('anna'));
    const login = oidc();
    expect(await home.run(['logout'])).toEqual({ code: 0, out: 'logged out of dev\n', err: '' });
    expect(config().contexts['dev']).toEqual({ server: plane.url, organization: 'default' });
    const form = { grant_type: 'refresh_token', refresh_token: login.refreshToken ?? '', client_id: login.clientId };
    const answer = await fetch(login.tokenEndpoint, { method: 'POST', body: new URLSearchParams(form) });
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })]);
  });

  it('says which issuer does not answer', async () => {
    provider.breakDown();
    const { code, err } = await home.run(['login', plane.url, '--oidc'], { clock });
    provider.breakDown(false);
    expect([code, err]).toEqual([1, expect.stringContaining(provider.issuer)]);
  });
});
