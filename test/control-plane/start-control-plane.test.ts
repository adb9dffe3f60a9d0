import { randomBytes } from 'node:crypto';
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Agent, fetch } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import { startControlPlane } from '../../src/control-plane/start-control-plane.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { gitEnv, INSTALL, RunningControlPlane } from './running-control-plane.ts';

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, '../../src/control-plane/main.ts');

/** A loaded machine may take its time; each wait ends as soon as it can. */
const soon = { timeout: 15_000, interval: 10 };

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-plane-main-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

interface Program {
  readonly child: ChildProcess;
  readonly url: string;
  readonly lines: string[];
  readonly call: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
}

const TOKEN = 'a-token-of-thirty-two-characters';

async function startMain(env: Record<string, string> = {}): Promise<Program> {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env['PATH'] ?? '',
      SERVICE_LISTEN: '127.0.0.1:0',
      SERVICE_DATA_DIR: folder,
      SERVICE_LOG_LEVEL: 'silent',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const lines: string[] = [];
  const input = createInterface({ input: child.stdout });
  input.on('line', (line) => lines.push(line));
  await Promise.race([once(input, 'line'), once(child, 'exit')]);
  const url = /https?:\/\/\S+/.exec(lines[0] ?? '')?.[0] ?? '';
  const token = env['SERVICE_ADMIN_TOKEN'] ?? TOKEN;
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  return { child, url, lines, call };
}

async function end(program: Program, signal: NodeJS.Signals): Promise<number | null> {
  const exit = once(program.child, 'exit');
  program.child.kill(signal);
  const [code] = (await exit) as [number | null];
  return code;
}

const CLUSTER = {
  slug: 'prod-eu',
  displayName: 'x',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  connectivityMode: 'gitops',
};
const CATALOG = { chart: { type: 'oci', url: 'oci://example.com/podinfo', name: 'podinfo' }, versions: '6.x' };

async function commits(): Promise<string[]> {
  const args = ['-C', join(folder, 'git/fleet.git'), 'log', '--format=%(trailers:key=Intent-Id,valueonly)', 'main'];
  const { stdout } = await run('git', args);
  return stdout.split('\n').filter((line) => line !== '');
}

describe('main', () => {
  it('prints its address, and an admin token at the first start only; ends on SIGTERM with 0', async () => {
    const first = await startMain();
    await expect.poll(() => first.lines.length, soon).toBe(2);
    expect(first.lines[0]).toBe(`service-control-plane is ready at ${first.url}`);
    const token = /^admin token, shown this once: (svcadm_\S+)$/.exec(first.lines[1] ?? '')?.[1] ?? '';
    const list = async (url: string, bearer: string) =>
      (await fetch(`${url}/api/v1/clusters`, { headers: { authorization: `Bearer ${bearer}` } })).status;
    expect(await list(first.url, token)).toBe(200);
    expect(await end(first, 'SIGTERM')).toBe(0);

    const second = await startMain();
    expect(await list(second.url, token)).toBe(200);
    expect(await end(second, 'SIGINT')).toBe(0);
    expect(second.lines).toHaveLength(1);
    for (const file of ['control-plane.db', 'master.key']) {
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    }
  });

  it('does not start with an unknown variable: one line, exit code 2', async () => {
    const env = { PATH: process.env['PATH'] ?? '', SERVICE_DATA_DIR: folder, SERVICE_LISTN: 'x' };
    const result = await run(process.execPath, [MAIN], { env }).catch(
      (error: { code: number; stderr: string; stdout: string }) => error,
    );
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toMatch(/^service-control-plane: SERVICE_LISTN: is not known[^\n]*\n$/);
  });

  it('S1: delivers every accepted intent exactly once although it is killed in the middle', async () => {
    const env = { SERVICE_ADMIN_TOKEN: TOKEN };
    let program = await startMain(env);
    await program.call('PUT', '/catalog/podinfo', CATALOG);
    await program.call('POST', '/clusters', CLUSTER);
    const accepted: string[] = [];
    for (const round of [0, 1]) {
      const intents = Array.from({ length: 10 }, async (_, index) => {
        const answer = await program.call('POST', '/clusters/prod-eu/intents', {
          ...INSTALL,
          name: `app-${round}-${index}`,
        });
        accepted.push(String(answer['id']));
      });
      await Promise.all(intents);
      // Before or within the first push of the round, then with some of it delivered.
      if (round > 0)
        await expect.poll(async () => (await commits()).length, { ...soon, interval: 50 }).toBeGreaterThan(round * 8);
      await end(program, 'SIGKILL');
      program = await startMain(env);
    }
    for (const id of accepted) {
      await expect.poll(async () => (await program.call('GET', `/intents/${id}`))['state'], soon).toBe('delivered');
    }
    expect((await commits()).toSorted()).toEqual(accepted.toSorted());
  }, 60_000);
});

describe('startControlPlane', () => {
  const start = async (env: Record<string, string> = {}) => {
    const config = readConfig({
      SERVICE_LISTEN: '127.0.0.1:0',
      SERVICE_DATA_DIR: folder,
      SERVICE_LOG_LEVEL: 'silent',
      ...env,
    });
    const logger = createLogger('test', 'silent');
    return await startControlPlane(config, { clock: systemClock, randomBytes, random: Math.random, logger });
  };
  const statusWith = async (url: string, token: string) =>
    (await fetch(`${url}/api/v1/clusters`, { headers: { authorization: `Bearer ${token}` } })).status;

  it('takes SERVICE_ADMIN_TOKEN for as long as it is set, and makes a token only when nobody could come in', async () => {
    for (const [set, others] of [
      [TOKEN, []],
      [`${TOKEN}-new`, [TOKEN]],
    ] as const) {
      await using plane = await start({ SERVICE_ADMIN_TOKEN: set });
      expect(plane.adminToken).toBeUndefined();
      expect(await statusWith(plane.url, set)).toBe(200);
      for (const other of others) expect(await statusWith(plane.url, other)).toBe(401);
    }
    let made: string;
    {
      await using plane = await start();
      made = plane.adminToken?.expose() ?? '';
      expect(await statusWith(plane.url, `${TOKEN}-new`)).toBe(401);
      expect(await statusWith(plane.url, made)).toBe(200);
    }
    await using plane = await start();
    expect(plane.adminToken).toBeUndefined();
    expect(await statusWith(plane.url, made)).toBe(200);
  });

  it.for<[string, string, RegExp]>([
    [
      'a file that is missing',
      '/nowhere',
      /^SERVICE_TLS_CERT: names a file that cannot be read: \/nowhere \(ENOENT\)$/,
    ],
    ['a file that is no key', MAIN, /^SERVICE_TLS_CERT: and SERVICE_TLS_KEY must be a PEM[^\n]*$/],
  ])('does not start with %s for TLS', async ([, file, line]) => {
    await expect(start({ SERVICE_TLS_CERT: file, SERVICE_TLS_KEY: file })).rejects.toThrow(line);
  });

  it('says so when its port or its data is in use', async () => {
    await using plane = await start();
    const { port } = new URL(plane.url);
    await expect(start()).rejects.toThrow(/is in use by another control plane/);
    await expect(
      start({ SERVICE_LISTEN: `127.0.0.1:${port}`, SERVICE_DATA_DIR: join(folder, 'other') }),
    ).rejects.toThrow(new RegExp(`^SERVICE_LISTEN: 127\\.0\\.0\\.1:${port} cannot be listened on \\(EADDRINUSE\\)$`));
  });
});

describe('a restart', () => {
  it('delivers again what lost its receipt, and recognises the commit that is there', async () => {
    await using plane = await RunningControlPlane.start();
    await plane.putPodinfo();
    await plane.newCluster('prod-eu');
    const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
    const id = String(body['id']);
    const before = await plane.until(id, 'delivered');
    const traces = await plane.traces();
    await plane.stop();
    await plane.execute('DELETE FROM receipts');
    await plane.execute("UPDATE intents SET state = 'accepted', delivered_at = NULL");
    await plane.startAgain();
    const after = await plane.until(id, 'delivered');
    expect(after['receipt']).toEqual(before['receipt']);
    expect(await plane.traces()).toEqual(traces);
    expect(await plane.committedIntents()).toEqual([id]);
  });

  it('ends a held /config request at once instead of waiting for it', async () => {
    await using plane = await RunningControlPlane.start();
    const created = await plane.call('POST', '/clusters', CLUSTER);
    const register = { token: created.body['registrationToken'] };
    const agent = await plane.call('POST', '/api/agent/register', register, { token: null });
    const token = String(agent.body['token']);
    const current = await plane.call('GET', '/api/agent/config?wait=0', undefined, { token });
    const headers = { 'if-none-match': current.headers.get('etag') ?? '' };
    const held = plane.call('GET', '/api/agent/config?wait=300', undefined, { token, headers });
    await plane.call('GET', '/clusters');
    await plane.stop();
    expect((await held).status).toBe(304);
    await plane.startAgain();
  });
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe('TLS', () => {
  it.skipIf(!hasOpenssl)(
    'serves both APIs by HTTPS, delivers, and gives agents the root of its certificate',
    async () => {
      const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
      const request =
        'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=control-plane';
      const files = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
      await run('openssl', [...request.split(' '), ...files]);
      await using plane = await RunningControlPlane.start(systemClock, {
        SERVICE_TLS_CERT: cert,
        SERVICE_TLS_KEY: key,
      });
      expect(plane.url).toMatch(/^https:\/\/127\.0\.0\.1:/);
      const ca = readFileSync(cert, 'utf8');
      await using agents = new AsyncDisposableStack();
      const dispatcher = agents.adopt(new Agent({ connect: { ca } }), async (agent) => await agent.close());
      const call = async (method: string, path: string, body?: unknown, token: string = plane.token) => {
        const answer = await fetch(`${plane.url}${path}`, {
          method,
          dispatcher,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return (await answer.json()) as Record<string, any>; // oxlint-disable-line typescript/no-explicit-any
      };
      await call('PUT', '/api/v1/catalog/podinfo', CATALOG);
      const created = await call('POST', '/api/v1/clusters', CLUSTER);
      const { id } = await call('POST', '/api/v1/clusters/prod-eu/intents', INSTALL);
      await expect.poll(async () => (await call('GET', `/api/v1/intents/${id}`))['state'], soon).toBe('delivered');
      expect(await plane.committedIntents()).toEqual([id]);

      const token = created['registrationToken'];
      const agent = await call('POST', '/api/agent/register', { token }, token);
      expect(agent['ca_certificate']).toBe(ca);
      // Without a key of its own the cluster is trusted with its credential in the clear, on this connection.
      const { git } = await call('GET', '/api/agent/config?wait=0', undefined, agent['token']);
      expect(git).toMatchObject({
        url: `${plane.url}/git/clusters/prod-eu.git`,
        credential: { username: 'service', password: expect.stringMatching(/^svcgit_/) },
      });
      const env = { ...gitEnv(git['credential']), GIT_SSL_CAINFO: cert };
      const { stdout } = await run('git', ['ls-remote', git['url'], 'main'], { env });
      expect(stdout).toContain('refs/heads/main');
    },
  );
});
