import { chmodSync, lstatSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Terminal } from '../../src/cli/terminal.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { Home } from './home.ts';

let plane: RunningControlPlane;
let other: RunningControlPlane;
let home: Home;

beforeAll(async () => {
  [plane, other] = await Promise.all([RunningControlPlane.start(), RunningControlPlane.start()]);
  await plane.newCluster('here');
  await other.newCluster('there');
});
beforeEach(() => (home = new Home()));
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const configured = (): unknown => parse(readFileSync(home.config, 'utf8'));
const logIn = async (at: RunningControlPlane, name: string): Promise<unknown> =>
  await home.run(['login', at.url, '--token-file', home.file(`${name}-token`, at.token), '--name', name]);
const typing = (answer: string | undefined): Terminal => ({
  ask: async () => await Promise.resolve(answer),
  askHidden: async () => await Promise.resolve(answer),
});

describe('servicectl login', () => {
  it('keeps where a token file is, and makes the context current', async () => {
    const file = home.file('token', `${plane.token}\n`);
    const host = new URL(plane.url).host.replace(':', '-');
    expect(await home.run(['login', plane.url, '--token-file', file])).toEqual({
      code: 0,
      out:
        `${plane.url}: logged in as admin of default, with read, deploy, approve, clusters, catalog, repositories, organization\n` +
        `${host} is the current context\n`,
      err: '',
    });
    expect(configured()).toEqual({
      currentContext: host,
      contexts: { [host]: { server: plane.url, tokenFile: file } },
    });
    expect(await home.run(['clusters', 'list', '-o', 'name'])).toEqual({ code: 0, out: 'here\n', err: '' });
    expect((await home.run(['whoami', '-o', 'json'])).out).toContain('"name": "admin"');
  });

  it('keeps a token that is typed unseen where its owner alone reads it, and never prints it', async () => {
    const login = await home.run(['login', `${plane.url}/`, '--name', 'dev'], { terminal: typing(plane.token) });
    expect(login).toMatchObject({ code: 0, err: '' });
    expect(statSync(home.config).mode & 0o777).toBe(0o600);
    expect(configured()).toMatchObject({ contexts: { dev: { server: plane.url, token: plane.token } } });
    const said = [
      await home.run(['contexts', 'show', '-o', 'yaml']),
      await home.run(['contexts', 'list', '-o', 'wide']),
    ];
    expect(said.map(({ code }) => code)).toEqual([0, 0]);
    expect(JSON.stringify([login, said])).not.toContain(plane.token);
    chmodSync(home.config, 0o644);
    expect((await home.run(['clusters', 'list', '-o', 'name'])).err).toContain(`chmod 600 ${home.config}`);
  });

  it.each([
    [[], undefined, 'nobody can be asked for a token here\nGive --oidc, --token-file FILE or --token-stdin'],
    [['--oidc', '--token-stdin'], undefined, 'there is one way to log in at a time'],
    [['--oidc'], undefined, 'trusts no identity provider\nLog in with a token: --token-file FILE'],
    [['--name', 'a/b'], undefined, '"a/b" is no name for a context'],
    [[], 'svcadm_wrong', 'Log in with a token of this control plane'],
    [[], 'two words', 'what was typed does not hold an admin token'],
  ] as const)('keeps nothing where it came to nothing: %j', async (args, typed, message) => {
    const terminal = typed === undefined ? {} : { terminal: typing(typed) };
    const { code, out, err } = await home.run(['login', plane.url, ...args], terminal);
    expect([code > 0, out, err]).toEqual([true, '', expect.stringContaining(message)]);
    expect(await home.run(['contexts', 'list', '-o', 'name'])).toEqual({ code: 0, out: '', err: '' });
  });

  it('takes no name that is of another control plane', async () => {
    await logIn(plane, 'prod');
    const { code, err } = await home.run([
      'login',
      other.url,
      '--name',
      'prod',
      '--token-file',
      home.file('t', other.token),
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining(`the context prod is of ${plane.url}\n`)]);
  });
});

describe('a context', () => {
  beforeEach(async () => {
    await logIn(plane, 'one');
    await logIn(other, 'two');
  });
  const clusters = async (args: readonly string[], env = {}): Promise<string> => {
    const { code, out, err } = await home.run(['clusters', 'list', '-o', 'name', ...args], { env });
    return `${code} ${out}${err}`;
  };

  it('is chosen by an option, the environment, or what is current, in this order', async () => {
    expect(await clusters([])).toBe('0 there\n');
    expect(await clusters([], { SERVICECTL_CONTEXT: 'one' })).toBe('0 here\n');
    expect(await clusters(['--context', 'two'], { SERVICECTL_CONTEXT: 'one' })).toBe('0 there\n');
    expect(await clusters([], { SERVICECTL_SERVER: plane.url })).toBe('0 here\n');
    expect(await clusters(['--context', 'two'], { SERVICECTL_SERVER: plane.url })).toBe('0 there\n');
    expect((await home.run(['contexts', 'use', 'one'])).out).toBe('one is the current context\n');
    expect(await clusters([])).toBe('0 here\n');
    expect(await clusters(['--context', 'three'])).toBe(
      '2 servicectl: there is no context three\nSee which there are: servicectl contexts list\n',
    );
  });

  it('sends its token to no other control plane', async () => {
    expect(await clusters(['--server', 'http://127.0.0.1:9'])).toMatch(
      /^2 servicectl: there is no admin token\nLog in: /,
    );
    expect(await clusters(['--server', `${plane.url}/`])).toBe('0 here\n');
  });

  it('is renamed, logged out of and forgotten', async () => {
    expect(await home.run(['contexts', 'rename', 'two', 'one'])).toMatchObject({ code: 2 });
    expect((await home.run(['contexts', 'rename', 'two', 'three'])).out).toBe('two is called three\n');
    expect(configured()).toMatchObject({ currentContext: 'three' });
    expect((await home.run(['logout'])).out).toBe('logged out of three\n');
    expect(await clusters([])).toBe(
      `2 servicectl: nobody is logged in to three\nLog in: servicectl login ${other.url} --name three\n`,
    );
    expect(await home.run(['contexts', 'delete', 'three'])).toMatchObject({ code: 2 });
    const no = await home.run(['contexts', 'delete', 'three'], { terminal: typing('n') });
    expect([no.code, no.err]).toEqual([1, expect.stringContaining('servicectl: nothing was done\n')]);
    expect(await home.run(['contexts', 'delete', 'three'], { terminal: typing('y') })).toMatchObject({ code: 0 });
    expect(await home.run(['contexts', 'show'])).toMatchObject({ code: 1 });
    expect((await home.run(['contexts', 'list', '-o', 'name'])).out).toBe('one\n');
  });

  it('is read from a file that says what is wrong with it, and quotes nothing of it', async () => {
    writeFileSync(home.config, 'contexts: {a: {server: x, tokn: svcadm_secret}}\n');
    const wrong = await clusters([]);
    expect(wrong).toMatch(/^2 servicectl: .*config\.yaml is not a configuration of servicectl: \/contexts\/a/);
    writeFileSync(home.config, 'contexts: [svcadm_secret\n');
    expect(`${wrong}${await clusters([])}`).not.toContain('svcadm_secret');
  });

  it('is kept in the file that a link names, which stays a link', async () => {
    await logIn(plane, 'first');
    const kept = join(home.folder, 'kept-elsewhere.yaml');
    renameSync(home.config, kept);
    symlinkSync(kept, home.config);
    await logIn(plane, 'second');
    expect(lstatSync(home.config).isSymbolicLink()).toBe(true);
    expect(parse(readFileSync(kept, 'utf8'))).toMatchObject({ contexts: { first: {}, second: {} } });
    writeFileSync(kept, 'contexts:\n  first:\n  - [secret\n');
    const { code, err } = await home.run(['contexts', 'list']);
    expect([code, err]).toEqual([2, expect.stringMatching(/config\.yaml:[234] cannot be read/)]);
    expect(err).not.toContain('secret');
  });

  it('is changed by many commands at once, of which none is lost, and by one after another was killed', async () => {
    writeFileSync(`${home.config}.lock`, '99999999 of-one-that-was-killed');
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(names.map(async (name) => await logIn(plane, name)));
    expect((await home.run(['contexts', 'list', '-o', 'name'])).out.split('\n').sort()).toEqual(
      ['', 'one', 'two', ...names].sort(),
    );
  });
});
