import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { ConnectProxy } from './connect-proxy.ts';
import { FakeGitHost } from './fake-git-host.ts';
import { giteaApi, githubApi, gitlabApi } from './host-apis.ts';

const TOKEN = 'glpat-a-token-that-must-not-leak';
const APP = generateKeyPairSync('rsa', { modulusLength: 2048 });
const APP_KEY = APP.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();

let plane: RunningControlPlane;
let host: FakeGitHost;

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
  await plane.putPodinfo();
});
afterAll(async () => await plane[Symbol.asyncDispose]());
beforeEach(async () => {
  host = await FakeGitHost.start();
});
afterEach(async () => await host[Symbol.asyncDispose]());

const put = async (name: string, body: Record<string, unknown>) =>
  await plane.call('PUT', `/repositories/${name}`, { caCertificate: host.ca, ...body });

/** A cluster in the repository, and an intent that is delivered there; answers the commit. */
async function deliver(slug: string, repository: string): Promise<string> {
  await plane.newCluster(slug, { git: { repository } });
  const { body } = await plane.call('POST', `/clusters/${slug}/intents`, INSTALL);
  const { receipt } = await plane.until(String(body['id']), 'delivered');
  return String(receipt.commit);
}

describe('a repository of another host', () => {
  it('is delivered to by a token, an own certificate authority and a proxy that asks for a password', async () => {
    await using proxy = await ConnectProxy.start('way', 'out-word');
    host.tokens.set(TOKEN, { access: 'write' });
    const url = host.newRepository();
    const write = { kind: 'token', username: 'robot', token: TOKEN };
    const proxyUrl = `http://way:out-word@${proxy.address}`;
    const created = await put('plain', { url, host: 'git', proxyUrl, write });
    expect(created).toMatchObject({
      status: 201,
      body: {
        repository: {
          name: 'plain',
          host: 'git',
          url,
          branch: 'main',
          layout: 'flat',
          proxy: `http://${proxy.address}`,
          credentials: { write: { kind: 'token', username: 'robot', setAt: expect.any(String) } },
          probe: {
            state: 'ready',
            message:
              'may write; there is no branch main yet; the first commit makes it, and a proposal needs one before',
            at: expect.any(String),
          },
        },
        webhookSecret: expect.stringMatching(/^whsec_/),
      },
    });
    const commit = await deliver('plain-eu', 'plain');
    expect(host.git(['rev-parse', 'main'])).toBe(commit);
    expect(host.git(['ls-tree', '-r', '--name-only', 'main'])).toContain('clusters/plain-eu/apps/shop/podinfo.yaml');
    // A change by somebody else is fetched by native git, the same way out.
    host.git([
      'update-ref',
      'refs/heads/main',
      host.git(['commit-tree', '-m', 'by hand', '-p', commit, `${commit}^{tree}`]),
    ]);
    const update = { ...INSTALL, action: 'update', chartVersion: '6.6.0' };
    const { body } = await plane.call('POST', '/clusters/plain-eu/intents', update);
    await plane.until(String(body['id']), 'delivered');
    expect(host.git(['log', '--format=%s', 'main']).split('\n')).toHaveLength(3);
    const target = new URL(host.url).host;
    expect(new Set(proxy.tunnels)).toEqual(new Set([target]));
    expect(proxy.refused).toEqual([]);
    const wrong = await put('plain', { url, host: 'git', proxyUrl: proxyUrl.replace('out-word', 'other'), write });
    expect(wrong.body['repository'].probe).toMatchObject({
      state: 'unreachable',
      message: expect.stringContaining('407'),
    });
    expect(JSON.stringify(wrong.body)).not.toContain('other@');
  });

  it('G9: a new installation token answers 404 at first: not active yet, tried again, nothing lost', async () => {
    const url = host.newRepository();
    const github = githubApi({
      host,
      appKey: APP.publicKey,
      now: () => new Date(),
      token: { unknownFor: 2 },
    });
    host.api = github.api;
    const write = { kind: 'github-app', appId: '7', installationId: '42', privateKey: APP_KEY };
    const created = await put('app', { url, host: 'github', write });
    expect(created.body['repository']).toMatchObject({
      apiUrl: `${host.url}/api/v3`,
      credentials: { write: { kind: 'github-app', appId: '7', installationId: '42' } },
      probe: { state: 'pending', message: expect.stringMatching(/^the credential is not active yet: .* 404/) },
    });
    const commit = await deliver('app-eu', 'app');
    expect(host.git(['rev-parse', 'main'])).toBe(commit);
    expect(github.asked[0]?.body).toEqual({
      repositories: ['fleet'],
      permissions: { contents: 'write', metadata: 'read', pull_requests: 'write' },
    });
    expect(await github.asked[0]?.claims).toMatchObject({ iss: '7', iat: expect.any(Number), exp: expect.any(Number) });
    const probed = await plane.call('POST', '/repositories/app/probe');
    expect(probed.body['probe']).toMatchObject({ state: 'ready', message: 'may write' });
    // One for the probe of the creation, by itself, and one for all that came after.
    expect(github.asked).toHaveLength(2);
  });

  it('shows when a GitLab token ends, as GitLab says, and what its level lacks', async () => {
    host.tokens.set(TOKEN, { access: 'write' });
    const url = host.newRepository();
    host.api = gitlabApi({ token: TOKEN, expiresAt: '2027-02-01' });
    const created = await put('lab', { url, host: 'gitlab', write: { kind: 'token', token: TOKEN } });
    expect(created.body['repository']).toMatchObject({
      credentials: { write: { kind: 'token', expiresAt: '2027-02-01T00:00:00Z' } },
      probe: { state: 'ready' },
    });
    await deliver('lab-eu', 'lab');
    host.api = gitlabApi({ token: TOKEN, expiresAt: '2027-02-01', level: 20 });
    expect((await plane.call('POST', '/repositories/lab/probe')).body['probe']).toMatchObject({
      state: 'forbidden',
      message: 'the credential may read the repository and not write it',
    });
  });

  it('asks Gitea what the token may do', async () => {
    host.tokens.set(TOKEN, { access: 'write' });
    const url = host.newRepository();
    host.api = giteaApi({ token: TOKEN });
    const created = await put('tea', { url, host: 'gitea', write: { kind: 'token', token: TOKEN } });
    expect(created.body['repository'].probe).toMatchObject({ state: 'ready' });
    await deliver('tea-eu', 'tea');
    host.api = giteaApi({ token: TOKEN, archived: true });
    expect((await plane.call('POST', '/repositories/tea/probe')).body['probe']).toMatchObject({
      state: 'forbidden',
      message: 'the repository is archived',
    });
  });

  it('does not follow a redirect with a credential, and says where to set the new address', async () => {
    host.tokens.set(TOKEN, { access: 'write' });
    const url = host.newRepository();
    await using elsewhere = await FakeGitHost.start();
    host.intercept = (request, response) => {
      response.writeHead(301, { location: `${elsewhere.url}${request.url}` }).end();
      return true;
    };
    const created = await put('moved', { url, host: 'git', write: { kind: 'token', token: TOKEN } });
    expect(created.body['repository'].probe).toMatchObject({
      state: 'unreachable',
      message: "the Git host redirects (301): set the repository's new URL",
    });
    expect(elsewhere.requests).toEqual([]);
  });

  it('is not believed without its own authority', async () => {
    host.tokens.set(TOKEN, { access: 'write' });
    const url = host.newRepository();
    const body = { url, host: 'git', write: { kind: 'token', token: TOKEN }, caCertificate: undefined };
    const created = await put('unbelieved', body);
    expect(created.body['repository'].probe).toMatchObject({ state: 'unreachable' });
    expect(host.requests).toEqual([]);
  });
});
