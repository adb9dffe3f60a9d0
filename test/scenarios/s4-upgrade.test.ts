import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import { MIGRATIONS } from '../../src/control-plane/store/migrate.ts';
import { startControlPlane, type ControlPlane } from '../../src/control-plane/start-control-plane.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { ManualClock } from '../support/manual-clock.ts';

/**
 * The data directory of a control plane of version 0.1.0, stopped after a real operator in gitops mode had registered with
 * it, installed, upgraded and uninstalled; beside it what that control plane answered in the end. Never made anew: a release
 * that was made is what it is. The next release adds one of its own.
 */
const FIXTURE = join(import.meta.dirname, 'data-of-0.1.0.tar.gz');
const KNOWN_MIGRATIONS = 2;

interface Known {
  readonly clusterId: string;
  readonly registrationToken: string;
  readonly adminToken: string;
  readonly agentToken: string;
  readonly intents: readonly Record<string, unknown>[];
  readonly audit: readonly string[];
  readonly tip: string;
}

let folder: string;
let known: Known;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'previous-release-'));
  execFileSync('tar', ['-C', folder, '-xzf', FIXTURE]);
  known = JSON.parse(readFileSync(join(folder, 'known.json'), 'utf8')) as Known;
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

interface Started extends AsyncDisposable {
  readonly call: (method: string, path: string, body?: unknown, token?: string) => Promise<Record<string, unknown>>;
  /** Lines of its log that say that the database was migrated. */
  readonly migrated: readonly string[];
}

/** The present control plane over that directory, soon after it was left. */
async function start(): Promise<Started> {
  const lines: { msg: string; name: string }[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) });
  const config = readConfig({
    SERVICE_LISTEN: '127.0.0.1:0',
    SERVICE_DATA_DIR: join(folder, 'data'),
    SERVICE_ADMIN_TOKEN: known.adminToken,
  });
  const clock = new ManualClock('2026-11-28T11:30:00.000Z');
  const plane: ControlPlane = await startControlPlane(config, { clock, randomBytes, random: () => 0.5, logger });
  return {
    call: async (method, path, body, token = known.adminToken) => {
      const answer = await fetch(`${plane.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, ...(text === '' ? {} : (JSON.parse(text) as object)) };
    },
    migrated: lines.filter(({ msg }) => msg === 'database migrated').map(({ name }) => name),
    [Symbol.asyncDispose]: async () => await plane[Symbol.asyncDispose](),
  };
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', join(folder, 'data', 'git', 'fleet.git'), ...args], { encoding: 'utf8' }).trim();
}

it('S4: a data directory of the previous release opens, is migrated forward once, and says so', async () => {
  {
    await using first = await start();
    expect(first.migrated).toEqual(MIGRATIONS.slice(KNOWN_MIGRATIONS).map(({ name }) => name));
  }
  await using plane = await start();
  expect(plane.migrated).toEqual([]);
});

it(
  'S4: nothing of it is lost, its tokens and credentials are good, and work goes on',
  { timeout: 90_000 },
  async () => {
    await using plane = await start();
    const { items: intents } = await plane.call('GET', '/api/v1/clusters/eu/intents');
    const shown = (intents as Record<string, unknown>[]).map(({ id, state, generation, name }) => ({
      id,
      state,
      generation,
      name,
    }));
    expect(shown).toEqual(known.intents);
    const { items: audit } = await plane.call('GET', '/api/v1/audit?limit=100');
    expect((audit as { source: string; kind: string }[]).map(({ source, kind }) => `${source} ${kind}`)).toEqual(
      known.audit,
    );
    expect(git('rev-parse', 'main')).toBe(known.tip);
    const cluster = await plane.call('GET', '/api/v1/clusters/eu');
    // It was set on this cluster, and the organization's own intervals, which came later, do not take it away.
    expect(cluster).toMatchObject({ id: known.clusterId, status: 'Active', intervals: { eventBatchMs: 20 } });

    const config = await plane.call('GET', '/api/agent/config?wait=0', undefined, known.agentToken);
    expect(config).toMatchObject({ status: 200, cluster_id: known.clusterId, connectivity_mode: 'gitops' });
    const token = known.registrationToken;
    const registered = await plane.call('POST', '/api/agent/register', { token }, token);
    expect(registered['status']).toBe(200);

    const update = { ...INSTALL, action: 'update', chartVersion: '6.6.2' };
    const accepted = await plane.call('POST', '/api/v1/clusters/eu/intents', update);
    expect(accepted).toMatchObject({ status: 202, generation: 3 });
    await expect
      .poll(async () => (await plane.call('GET', `/api/v1/intents/${String(accepted['id'])}`))['state'], {
        timeout: 15_000,
      })
      .toBe('delivered');
    expect(git('rev-parse', 'main~1')).toBe(known.tip);
    expect(git('show', 'main:clusters/eu/apps/shop/podinfo.yaml')).toContain('6.6.2');

    // And what is new works over it.
    const { allowedNamespaces, allowedCatalogEntries, allowedOperationTemplates } = cluster;
    const body = { slug: 'new', displayName: 'New', connectivityMode: 'pull' };
    const lists = { allowedNamespaces, allowedCatalogEntries, allowedOperationTemplates };
    expect((await plane.call('POST', '/api/v1/clusters', { ...body, ...lists }))['status']).toBe(201);
    expect((await plane.call('POST', '/api/v1/clusters/new/intents', INSTALL))['status']).toBe(202);
    await expect
      .poll(async () => (await plane.call('GET', '/api/v1/clusters/new/jobs'))['items'], { timeout: 15_000 })
      .toHaveLength(1);
  },
);
