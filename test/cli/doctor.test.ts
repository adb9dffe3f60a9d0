import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShownCluster } from '../../src/cli/cluster-table.ts';
import { checkCluster } from '../../src/cli/doctor-cluster.ts';
import { checkClock, checkTls, checkToken, checkVersion, type Finding } from '../../src/cli/doctor-checks.ts';
import { PROJECT_VERSION } from '../../src/runtime/project-version.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { Home } from './home.ts';

const NOW = new Date('2026-12-01T00:00:00.000Z');
let plane: RunningControlPlane;
let home: Home;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  home = new Home();
  await plane.newCluster('prod-eu');
  await home.run(['login', plane.url, '--token-file', home.file('token', plane.token), '--name', 'dev']);
});
afterAll(async () => {
  home[Symbol.dispose]();
  await plane[Symbol.asyncDispose]();
});

async function doctor(
  ...args: string[]
): Promise<{ readonly code: number; readonly states: Record<string, string>; readonly text: string }> {
  const { code, out, err } = await home.run(['doctor', ...args, '-o', 'json'], {
    env: { PATH: process.env['PATH'] ?? '' },
  });
  const { items } = JSON.parse(out) as { readonly items: readonly Finding[] };
  return { code, states: Object.fromEntries(items.map(({ check, state }) => [check, state])), text: `${out}${err}` };
}

describe('servicectl doctor', () => {
  it('looks at everything between here and the control plane', async () => {
    const { code, states } = await doctor();
    expect(code).toBe(0);
    expect(states).toMatchObject({
      configuration: 'ok',
      connection: 'ok',
      clock: 'ok',
      tls: 'ok',
      version: 'ok',
      token: 'ok',
      'may read': 'ok',
      'may organization': 'ok',
      git: 'ok',
    });
  });

  it('says of a login what it may not do, which is no fault', async () => {
    const made = await plane.call('POST', '/admin-tokens', { name: 'looks', access: ['viewer'] });
    const file = home.file('viewer', String(made.body['token']));
    const { code, states } = await doctor('--token-file', file);
    expect([code, states['may read'], states['may deploy']]).toEqual([0, 'ok', 'skipped']);
  });

  it('says of a cluster what is wrong and what to do, and exits with 1', async () => {
    const { code, states } = await doctor('prod-eu');
    expect([code, states['prod-eu: operator']]).toEqual([1, 'failed']);
    const shown = await home.run(['doctor', 'prod-eu']);
    expect(shown.out).toContain('prod-eu: operator: Install it: servicectl clusters install-command prod-eu\n');
    expect(shown.err).toBe('servicectl: not as it must be: prod-eu: operator\n');
    expect((await doctor('nobody')).states['nobody']).toBe('failed');
  });

  it.each([
    [['--server', 'http://127.0.0.1:4', '--token-file', '/dev/null'], 'connection', 'ECONNREFUSED'],
    [['--context', 'none'], 'configuration', 'servicectl contexts list'],
    [['--token-file', '/nonexistent'], 'token', 'ENOENT'],
  ] as const)('ends at what nothing else goes without: %j', async (args, check, says) => {
    const { code, states, text } = await doctor(...args);
    expect([code, states[check], text]).toEqual([1, 'failed', expect.stringContaining(says)]);
  });

  it('measures the clock against that of the control plane', async () => {
    const server = createServer(({ url }, response) => {
      response.statusCode = url === '/healthz' ? 200 : 404;
      response.setHeader('date', new Date(Date.now() + 600_000).toUTCString()).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { states, text } = await doctor('--server', url, '--token-file', home.file('t', 'any'));
    server.close();
    expect([states['clock'], text]).toEqual([
      'failed',
      expect.stringMatching(/clock is (599|600) s behind the control/),
    ]);
  });
});

describe('a check', () => {
  it.each([
    [1000, 'ok'],
    [-10_000, 'warning'],
    [61_000, 'failed'],
    [Number.NaN, 'skipped'],
  ])('of a clock that is %s ms away is %s', (skew, state) => {
    expect(checkClock(skew).state).toBe(state);
  });

  it('of the way there is about who can read on it', async () => {
    const states = ['http://localhost:1', 'http://control.example.com'].map(
      async (url) => (await checkTls(url, NOW)).state,
    );
    expect(await Promise.all(states)).toEqual(['ok', 'warning']);
    expect(await checkTls('https://127.0.0.1:9', NOW)).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('of versions is about both', () => {
    expect([PROJECT_VERSION, '99.0.0', '0.0.1', undefined].map((version) => checkVersion(version).state)).toEqual([
      'ok',
      'warning',
      'warning',
      'skipped',
    ]);
  });

  it('of a token is about its end', () => {
    const me = {
      name: 'a',
      member: false,
      organization: { id: 'o', name: 'o' },
      organizations: [],
      access: [],
      roles: [],
      scopes: [],
    };
    const at = (tokenExpiresAt: string, via: 'token' | 'oidc' = 'token'): string =>
      checkToken({ ...me, tokenExpiresAt, via }, NOW).state;
    const [soon, late] = ['2026-12-05T00:00:00.000Z', '2027-12-05T00:00:00.000Z'];
    expect([at(soon), at(late), at(soon, 'oidc')]).toEqual(['warning', 'ok', 'ok']);
  });

  it('of a cluster names each condition that is wrong, once, with what to do', () => {
    const condition = (type: string, status: string, reason = 'Why'): ShownCluster['conditions'][number] => ({
      type,
      status,
      reason,
      message: 'so',
    });
    const cluster: ShownCluster = {
      id: 'c-1',
      slug: 'eu',
      displayName: 'eu',
      status: 'Active',
      connectivityMode: 'pull',
      allowedNamespaces: [],
      lastContactAt: '2026-11-01T00:00:00.000Z',
      credential: { expiresAt: '2026-12-20T00:00:00.000Z', rotateAfter: '2026-11-20T00:00:00.000Z' },
      conditions: [
        condition('Connected', 'False', 'NoContact'),
        condition('Disconnected', 'True', 'NoContact'),
        condition('Expired', 'False'),
        condition('Synced', 'True'),
        condition('Stalled', 'True', 'Conflict'),
        condition('OperatorUpToDate', 'False'),
      ],
    };
    const found = checkCluster(cluster, NOW).map(({ check, state, next }) => [check, state, next]);
    expect(found).toEqual([
      ['eu: operator', 'ok', undefined],
      ['eu: credential', 'warning', expect.stringContaining('kubectl')],
      ['eu: Connected', 'failed', expect.stringContaining('logs deployment/service-operator')],
      ['eu: Stalled', 'failed', 'See docs/operations.md for Conflict'],
      ['eu: OperatorUpToDate', 'warning', expect.stringContaining('clusters install-command eu')],
    ]);
  });
});
