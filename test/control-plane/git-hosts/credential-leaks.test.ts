import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { leaksIn } from '../../scenarios/leak-forms.ts';
import { SshServer } from '../../git/remote/ssh-server.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { ConnectProxy } from './connect-proxy.ts';
import { FakeGitHost, noteCommandLines } from './fake-git-host.ts';
import { giteaApi, githubApi, gitlabApi } from './host-apis.ts';

const APP = generateKeyPairSync('rsa', { modulusLength: 2048 });
const APP_KEY = APP.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
/** The line of a PEM that names the key and nothing else does. */
const telling = (pem: string): string => pem.trim().split('\n').at(-2) ?? '';

let plane: RunningControlPlane;
let ssh: SshServer;
let proxy: ConnectProxy;
/** Everything that went out: log lines and answers. */
let said = '';

beforeAll(async () => {
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      said += chunk.toString('utf8');
      done();
    },
  });
  const logger = pino({ level: 'trace' }, sink);
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' }, logger);
  await plane.putPodinfo();
  ssh = await SshServer.start();
  proxy = await ConnectProxy.start('way', 'proxy-word-that-must-not-leak');
}, 90_000);
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await ssh[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

interface Kind {
  readonly name: string;
  readonly setUp: (host: FakeGitHost) => Promise<{
    readonly body: Record<string, unknown>;
    readonly secrets: Record<string, string>;
    /** The bare repository on disk. */
    readonly path: string;
    /** Makes the host refuse from now on, so that there are errors to look into. */
    readonly refuse: () => void;
  }>;
}

const READ = 'a-reading-token-that-must-not-leak';

function tokenKind(name: 'git' | 'gitlab' | 'gitea'): Kind {
  return {
    name,
    setUp: async (host) => {
      const token = `${name}-token-that-must-not-leak`;
      host.tokens.set(token, { access: 'write' });
      host.tokens.set(READ, { access: 'read' });
      if (name === 'gitlab') host.api = gitlabApi({ token, expiresAt: '2027-02-01' });
      if (name === 'gitea') host.api = giteaApi({ token });
      return {
        body: {
          url: host.newRepository(),
          host: name,
          caCertificate: host.ca,
          write: { kind: 'token', token },
          read: { kind: 'token', username: 'reader', token: READ },
          proxyUrl: `http://way:proxy-word-that-must-not-leak@${proxy.address}`,
        },
        path: join(host.folder, 'acme/fleet.git'),
        secrets: { token, read: READ, proxy: 'proxy-word-that-must-not-leak' },
        refuse: () => host.tokens.clear(),
      };
    },
  };
}

const KINDS: readonly Kind[] = [
  tokenKind('git'),
  tokenKind('gitlab'),
  tokenKind('gitea'),
  {
    name: 'github-app',
    setUp: async (host) => {
      host.api = githubApi({ host, appKey: APP.publicKey, now: () => new Date() }).api;
      return {
        body: {
          url: host.newRepository(),
          host: 'github',
          caCertificate: host.ca,
          write: { kind: 'github-app', appId: '7', installationId: '42', privateKey: APP_KEY },
        },
        path: join(host.folder, 'acme/fleet.git'),
        secrets: { key: telling(APP_KEY), token: 'ghs_installation-token-' },
        refuse: () => host.tokens.clear(),
      };
    },
  },
  {
    name: 'ssh',
    setUp: async () => {
      const { url, path } = await ssh.newRepository('leaks.git');
      const { privateKey, knownHosts } = await ssh.newKey('leaks');
      const read = await ssh.newKey('leaks-reader', 'read');
      return {
        body: {
          url,
          host: 'git',
          write: { kind: 'ssh', privateKey: privateKey.expose(), knownHosts },
          read: { kind: 'ssh', privateKey: read.privateKey.expose(), knownHosts },
        },
        path,
        secrets: { key: telling(privateKey.expose()), read: telling(read.privateKey.expose()) },
        refuse: () => undefined,
      };
    },
  },
];

/** Somebody else's commit, so that native git has to fetch. */
function commitByHand(path: string): void {
  const git = (...args: string[]): string => execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' }).trim();
  const who = ['-c', 'user.name=A Person', '-c', 'user.email=person@example.test'];
  const commit = git(...who, 'commit-tree', '-m', 'by hand', '-p', 'main', 'main^{tree}');
  git('update-ref', 'refs/heads/main', commit);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

describe('a secret of a repository', () => {
  it.for(KINDS)('of kind $name stands nowhere but sealed in the database', async ({ name, setUp }) => {
    await using host = await FakeGitHost.start();
    const { body, secrets, path, refuse } = await setUp(host);
    const watched = new Set<string>();
    const watching = setInterval(() => noteCommandLines(watched), 5);
    try {
      const answers = [await plane.call('PUT', `/repositories/${name}`, body)];
      expect([answers[0]?.status, answers[0]?.body['repository']?.probe?.state]).toEqual([201, 'ready']);
      await plane.newCluster(`${name}-eu`, { git: { repository: name } });
      const first = await plane.call('POST', `/clusters/${name}-eu/intents`, INSTALL);
      await plane.until(String(first.body['id']), 'delivered');
      commitByHand(path);
      const update = { ...INSTALL, action: 'update', chartVersion: '6.6.0' };
      const second = await plane.call('POST', `/clusters/${name}-eu/intents`, update);
      await plane.until(String(second.body['id']), 'delivered');
      answers.push(await plane.call('GET', `/repositories/${name}`), await plane.call('GET', '/repositories'));
      answers.push(await plane.call('POST', `/repositories/${name}/probe`), await plane.call('GET', '/audit'));
      refuse();
      answers.push(await plane.call('POST', `/repositories/${name}/probe`));
      answers.push(await plane.call('PUT', `/repositories/${name}`, { ...body, unknown: true }));
      answers.push(await plane.call('PUT', `/repositories/${name}`, { ...body, branch: '--x' }));
      said += JSON.stringify(answers.map((answer) => answer.body));
    } finally {
      clearInterval(watching);
    }
    const hidden = new Map(Object.entries(secrets));
    const processes = [...watched, ...host.commandLines];
    // The look itself works: native git and ssh were seen.
    expect(processes.some((line) => /^git (fetch|remote-https|ls-remote)|^ssh /.test(line))).toBe(true);
    expect(processes.flatMap((line) => leaksIn(line, hidden))).toEqual([]);
    expect(leaksIn(said, hidden)).toEqual([]);
    const files = filesBelow(plane.folder);
    expect(files.filter((file) => leaksIn(readFileSync(file), hidden).length > 0)).toEqual([]);
    expect(files.some((file) => file.includes('mirrors'))).toBe(true);
    expect(readdirSync('/dev/shm').filter((entry) => entry.startsWith(`service-git-${process.pid}-`))).toEqual([]);
    const rows = plane.query('SELECT * FROM repositories WHERE name = ?', name);
    expect(leaksIn(JSON.stringify(rows), hidden)).toEqual([]);
    expect(rows[0]?.['credentials_sealed']).toMatch(/^eyJ/);
  });

  it('that was copied to another repository opens nothing there', async () => {
    await using host = await FakeGitHost.start();
    host.tokens.set('a-token-that-is-copied', { access: 'write' });
    const body = {
      url: host.newRepository(),
      host: 'git',
      caCertificate: host.ca,
      write: { kind: 'token', token: 'a-token-that-is-copied' },
    };
    await plane.call('PUT', '/repositories/from', body);
    await plane.call('PUT', '/repositories/to', body);
    await plane.execute(
      "UPDATE repositories SET credentials_sealed = (SELECT credentials_sealed FROM repositories WHERE name = 'from') WHERE name = 'to'",
    );
    const answer = await plane.call('POST', '/repositories/to/probe');
    expect(answer.status).toBe(500);
    expect(said).toMatch(/sealed for another place: the database was altered/);
  });
});
