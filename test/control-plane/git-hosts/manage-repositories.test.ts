import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { FakeGitHost } from './fake-git-host.ts';
import { giteaApi } from './host-apis.ts';

const FIRST = 'the-first-token-of-the-fleet';
const SECOND = 'the-second-token-of-the-fleet';

let plane: RunningControlPlane;
let host: FakeGitHost;
let url: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
  await plane.putPodinfo();
  host = await FakeGitHost.start();
  host.tokens.set(FIRST, { access: 'write' });
  url = host.newRepository();
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
});

const bodyOf = (changes: Record<string, unknown> = {}) => ({
  url,
  host: 'git',
  caCertificate: host.ca,
  write: { kind: 'token', token: FIRST },
  ...changes,
});
const PEM = '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n';
const SSH = { kind: 'ssh', privateKey: PEM, knownHosts: 'git.example.com ssh-ed25519 AAAA' };
const APP = { kind: 'github-app', appId: '7', installationId: '42', privateKey: PEM };

describe('what is not a repository of another host', () => {
  it.for([
    ['/url', { url: 'ftp://git.example.com/acme/fleet' }],
    ['/url', { url: 'https://user:word@git.example.com/acme/fleet.git' }],
    ['/url', { url: 'http://git.example.com/acme/fleet.git' }],
    ['/url', { url: "https://git.example.com/acme/fl'eet.git" }],
    ['/url', { url: 'https://git.example.com/acme/../fleet.git' }],
    ['/url', { url: 'https://git.example.com/acme/%2e%2e/fleet.git' }],
    ['/url', { url: 'git@git.example.com:../fleet.git', write: SSH }],
    ['/url', { url: 'https://git.example.com/fleet.git', host: 'github' }],
    ['/url', { url: 'https://git.example.com/acme/fl\neet.git' }],
    ['/url', { url: 'https://git.example.com/acme/fleet.git\u0000' }],
    ['/url', { url: ' https://git.example.com/acme/fleet.git' }],
    ['/url', { url: 'ssh://-oProxyCommand=x/acme/fleet.git', write: SSH }],
    ['/url', { url: 'ssh://ho"st/acme/fleet.git', write: SSH }],
    ['/url', { url: 'ssh://git$(id)@git.example.com/acme/fleet.git', write: SSH }],
    ['/apiUrl', { host: 'gitea', apiUrl: 'https://git.example.com/api\n' }],
    ['/proxyUrl', { proxyUrl: 'http://proxy.example.com:3128\t' }],
    ['/branch', { branch: '--upload-pack=x' }],
    ['/branch', { branch: 'a..b' }],
    ['/apiUrl', { apiUrl: 'https://git.example.com/api' }],
    ['/apiUrl', { host: 'gitea', apiUrl: 'https://user:word@git.example.com/api' }],
    ['/proxyUrl', { proxyUrl: 'socks5://proxy.example.com:1080' }],
    ['/proxyUrl', { proxyUrl: 'http://proxy.example.com/path' }],
    ['/caCertificate', { caCertificate: 'not a certificate' }],
    ['/write/kind', { write: SSH }],
    ['/write/kind', { url: 'git@git.example.com:acme/fleet.git' }],
    ['/proxyUrl', { url: 'git@git.example.com:acme/fleet.git', write: SSH, proxyUrl: 'http://proxy.example.com:3128' }],
    ['/write/kind', { write: APP }],
    ['/api', { api: { kind: 'token', token: 'a-token-for-an-api' } }],
  ] as const)('is refused at %s: %o', async ([path, changes]) => {
    const answer = await plane.call('PUT', '/repositories/refused', bodyOf(changes));
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated' } });
    expect(answer.body['faults'].map((fault: { path: string }) => fault.path)).toContain(path);
    expect(JSON.stringify(answer.body)).not.toContain(FIRST);
    expect((await plane.call('GET', '/repositories/refused')).status).toBe(404);
  });

  it('is refused with a deploy key that has a passphrase, and with known hosts that name none', async () => {
    const key = join(plane.folder, 'locked');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'a word', '-f', key]);
    const write = { kind: 'ssh', privateKey: readFileSync(key, 'utf8'), knownHosts: '# git.example.com' };
    const answer = await plane.call(
      'PUT',
      '/repositories/refused',
      bodyOf({ url: 'git@git.example.com:a/b.git', write }),
    );
    expect(answer.body['faults']).toEqual([
      { path: '/write/privateKey', message: 'must have no passphrase: nobody is there to type it' },
      {
        path: '/write/knownHosts',
        message: 'must be lines of known_hosts, as ssh-keyscan prints them: host, kind and key',
      },
    ]);
  });

  it.for([
    'https://127.0.0.1/a/b.git',
    'https://10.0.0.8/a/b.git',
    'https://[::1]/a/b.git',
    'https://git.localhost/a/b',
    'https://localhost./a/b',
    'https://LOCALHOST/a/b',
    'https://[::169.254.169.254]/a/b',
    'https://[::ffff:0:127.0.0.1]/a/b',
  ])('is refused in the own network where that was not opened: %s', async (address) => {
    await using closed = await RunningControlPlane.start();
    const answer = await closed.call('PUT', '/repositories/inner', bodyOf({ url: address }));
    expect(answer.body['faults']).toEqual([
      {
        path: '/url',
        message: 'must be an address of the public network; SERVICE_GIT_ALLOW_PRIVATE=true allows others',
      },
    ]);
  });
});

describe('a repository of another host', () => {
  it('is not put in place of one of the embedded host', async () => {
    await plane.newCluster('embedded-eu');
    expect(await plane.call('PUT', '/repositories/fleet', bodyOf())).toMatchObject({ status: 409 });
    expect(await plane.call('DELETE', '/repositories/fleet')).toMatchObject({ status: 409 });
    expect(await plane.call('POST', '/repositories/fleet/probe')).toMatchObject({ status: 409 });
    expect((await plane.call('GET', '/repositories/fleet')).body).toMatchObject({ name: 'fleet', host: 'embedded' });
  });

  it('gets a new credential while intents are delivered, and is not given one that the host refuses', async () => {
    await plane.call('PUT', '/repositories/turned', bodyOf());
    await plane.newCluster('turned-eu', { git: { repository: 'turned' } });
    const install = async (name: string) => {
      const { body } = await plane.call('POST', '/clusters/turned-eu/intents', { ...INSTALL, name });
      return String(body['id']);
    };
    await plane.until(await install('one'), 'delivered');
    host.tokens.set(SECOND, { access: 'read' });
    const asked = { write: { kind: 'token', token: SECOND } };
    const refused = await plane.call('PUT', '/repositories/turned/credentials', asked);
    expect(refused).toMatchObject({
      status: 400,
      body: {
        faults: [
          { path: '/write', message: expect.stringMatching(/^was not taken, and the one before it is kept: .* 403/) },
        ],
      },
    });
    await plane.until(await install('two'), 'delivered');
    host.tokens.set(SECOND, { access: 'write' });
    const ids = await Promise.all(['three', 'four', 'five'].map(install));
    expect((await plane.call('PUT', '/repositories/turned/credentials', asked)).status).toBe(200);
    for (const id of ids) await plane.until(id, 'delivered');
    host.tokens.delete(FIRST);
    await plane.until(await install('six'), 'delivered');
    host.tokens.set(FIRST, { access: 'write' });
    const audit = await plane.call('GET', '/audit?kind=RepositoryCredentialsReplaced');
    expect(audit.body['items']).toMatchObject([
      { actor: 'admin', summary: 'credentials of repository turned replaced: write' },
    ]);
  });

  it('is kept by the address as it was read, however it was written', async () => {
    const { body } = await plane.call('PUT', '/repositories/spelled', bodyOf({ url: url.replace('https', 'HTTPS') }));
    expect(body['repository']).toMatchObject({ url, probe: { state: 'ready' } });
  });

  it('is not called by the name under which clusters read their own directories', async () => {
    const refused = await plane.call('PUT', '/repositories/clusters', bodyOf());
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('must not be clusters') } });
    expect((await plane.call('GET', '/repositories/clusters')).status).toBe(404);
  });

  it('is deleted only when no cluster uses it', async () => {
    await plane.call('PUT', '/repositories/used', bodyOf());
    await plane.newCluster('used-eu', { git: { repository: 'used' } });
    expect(await plane.call('DELETE', '/repositories/used')).toMatchObject({
      status: 409,
      body: {
        message: 'the repository used is used by used-eu: delete these clusters, or move them to another mode, first',
      },
    });
    await plane.call('DELETE', '/clusters/used-eu');
    expect((await plane.call('DELETE', '/repositories/used')).status).toBe(204);
    expect((await plane.call('GET', '/repositories/used')).status).toBe(404);
  });

  it('has no embedded read credential to give, nor a bare repository here', async () => {
    await plane.call('PUT', '/repositories/elsewhere', bodyOf());
    await plane.newCluster('elsewhere-eu', { git: { repository: 'elsewhere' } });
    expect((await plane.call('POST', '/repositories/elsewhere/read-credential')).status).toBe(409);
    expect(() => execFileSync('ls', [join(plane.folder, 'git', 'elsewhere.git')], { stdio: 'pipe' })).toThrow(
      'No such file',
    );
  });

  it('gets a new secret for its webhook also where the host refuses its credential', async () => {
    const created = await plane.call(
      'PUT',
      '/repositories/hooked',
      bodyOf({ write: { kind: 'token', token: 'a-wrong-token' } }),
    );
    expect(created.body['repository'].probe).toMatchObject({ state: 'forbidden' });
    const anew = await plane.call('PUT', '/repositories/hooked/credentials', { webhookSecret: 'new' });
    expect(anew).toMatchObject({ status: 200, body: { webhookSecret: expect.stringMatching(/^whsec_/) } });
    expect(anew.body['webhookSecret']).not.toBe(created.body['webhookSecret']);
  });

  it('keeps its layout while clusters are in it', async () => {
    await plane.call('PUT', '/repositories/laid', bodyOf());
    await plane.newCluster('laid-eu', { git: { repository: 'laid' } });
    expect((await plane.call('PUT', '/repositories/laid', bodyOf({ layout: 'sharded' }))).status).toBe(409);
    expect((await plane.call('PUT', '/repositories/laid', bodyOf())).body['repository']).toMatchObject({
      layout: 'flat',
    });
  });

  it('tells a cluster where and with what to read: the set token and the roots, sealed to its key or over TLS', async () => {
    host.tokens.set('a-token-to-read-with', { access: 'read' });
    host.api = giteaApi({ token: FIRST });
    const read = { kind: 'token', username: 'reader', token: 'a-token-to-read-with' };
    await plane.call('PUT', '/repositories/read', bodyOf({ host: 'gitea', read }));
    const { body } = await plane.call('POST', '/clusters', {
      slug: 'read-eu',
      displayName: 'read-eu',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: [],
      allowedOperationTemplates: [],
      connectivityMode: 'gitops',
      git: { repository: 'read' },
    });
    const registered = await plane.call(
      'POST',
      '/api/agent/register',
      { token: body['registrationToken'] },
      { token: null },
    );
    const config = await plane.call('GET', '/api/agent/config', undefined, { token: String(registered.body['token']) });
    expect(config.body['git']).toMatchObject({
      url,
      branch: 'main',
      path: 'clusters/read-eu',
      ca_certificate: host.ca,
    });
    const broken = await plane.call('PUT', '/repositories/read/credentials', {
      read: { kind: 'token', token: 'a-token-that-reads-nothing' },
    });
    expect(broken.body['faults'][0]).toMatchObject({ path: '/read' });
  });
});
