import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { acceptIntent } from '../../../src/control-plane/accept-intent.ts';
import { DeliveryLoop } from '../../../src/control-plane/delivery-loop.ts';
import { deliverByPush } from '../../../src/control-plane/push/deliver-by-push.ts';
import { putCatalogEntry } from '../../../src/control-plane/store/catalog-entries.ts';
import { insertPendingCluster } from '../../../src/control-plane/store/clusters.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { ensureOrganization } from '../../../src/control-plane/store/organizations.ts';
import { ValuesChecker } from '../../../src/control-plane/values-checker.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import { connectCluster, type ClusterConnection } from '../../../src/kube/connect-cluster.ts';
import { DEFAULT_INTERVALS } from '../../../src/protocol/agent-config.ts';
import { systemClock, type Clock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { startSandbox, type Sandbox } from '../../../src/sandbox/start-sandbox.ts';
import { INSTALL, PODINFO } from '../../control-plane/running-control-plane.ts';
import { installDefinitions } from '../../support/install-definitions.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const DEAD = 100;
const TIMEOUT_MS = 10_000;
const soon = { timeout: 20_000, interval: 5 };

const clock = new ManualClock();
const valuesChecker = new ValuesChecker({ clock });
let folder: string;
let store: Store;
let wakeups: Wakeups;
let sandbox: Sandbox;
/** Accepts and never answers. */
let hanging: { readonly url: string; readonly sockets: Set<Socket>; close(): void };
const urls = new Map<string, string>();
const connections = new Map<string, ClusterConnection>();
const stop = new AbortController();
let running: Promise<void> | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'push-fleet-'));
  wakeups = new Wakeups({ clock });
  store = await openStore({ url: `sqlite:${join(folder, 'db')}`, clock, logger: createLogger('test', 'silent') });
  sandbox = await startSandbox({ tls: false });
  const admin = connect(sandbox.url, systemClock);
  await installDefinitions(admin);
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, 'test');
  await admin[Symbol.asyncDispose]();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  hanging = { url: `http://127.0.0.1:${port}`, sockets, close };
}, 60_000);
afterEach(async () => {
  stop.abort();
  hanging.close();
  // What is in flight has a few seconds.
  const moving = setInterval(() => clock.advance(1000), 5);
  await running;
  clearInterval(moving);
  for (const connection of connections.values()) await connection[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function connect(url: string, its: Clock): ClusterConnection {
  const yaml = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'x', cluster: { server: url } }],
    users: [{ name: 'x', user: { token: sandbox.token.expose() } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  });
  const kubeconfig = { kind: 'text', yaml } as const;
  return connectCluster({ kubeconfig, userAgent: 'push', requestTimeoutMs: TIMEOUT_MS, clock: its, random: () => 0 });
}

async function newCluster(slug: string, url: string): Promise<string> {
  urls.set(`c-${slug}`, url);
  await store.write(async (trx) => {
    const organization = await ensureOrganization(trx, 'default', { clock, randomBytes });
    await putCatalogEntry(trx, organization.id, { name: 'podinfo', ...PODINFO, updatedAt: '' } as never);
    await insertPendingCluster(trx, {
      id: `c-${slug}`,
      organization_id: organization.id,
      slug,
      display_name: slug,
      connectivity_mode: 'push',
      allowed_namespaces: '["shop"]',
      allowed_catalog_entries: '["podinfo"]',
      allowed_operation_templates: '[]',
      security: '{}',
      intervals: JSON.stringify(DEFAULT_INTERVALS),
      repository_id: null,
      git_directory: null,
      created_at: clock.now().toISOString(),
    });
    await trx
      .insertInto('push_credentials')
      .values({
        id: `push-${slug}`,
        cluster_id: `c-${slug}`,
        state: 'current',
        server: url,
        info: '{}',
        credential_sealed: null,
        created_by: 'admin',
        created_at: clock.now().toISOString(),
        expires_at: null,
        renew_at: null,
        renewed_at: null,
        renewal_fault: null,
        probe: null,
        revoked_at: null,
        revoked_reason: null,
      })
      .execute();
  });
  return `c-${slug}`;
}

async function accept(clusterId: string, name: string, asked: object = INSTALL): Promise<string> {
  const request = { ...asked, name } as never;
  const deps = { store, wakeups, clock, randomBytes, masterKey: { derive: () => new Uint8Array(32) }, valuesChecker };
  return (await acceptIntent(deps, { clusterId, request, requestedBy: 'admin', requestKey: undefined })).id;
}

async function stateOf(id: string): Promise<string | undefined> {
  return (await store.db.selectFrom('intents').select('state').where('id', '=', id).executeTakeFirst())?.state;
}

it('delivers to a healthy cluster while a hundred hang or refuse, and waits for no timeout', async () => {
  const dead: string[] = [];
  for (let index = 0; index < DEAD; index += 1) {
    const url = index % 2 === 0 ? hanging.url : 'http://127.0.0.1:1';
    // By name and by time before the healthy one.
    const cluster = await newCluster(`a-${String(index).padStart(3, '0')}`, url);
    dead.push(await accept(cluster, 'podinfo'));
    await accept(cluster, 'second');
  }
  const healthy = await newCluster('z', sandbox.url);
  const first = await accept(healthy, 'first');
  const deliverTo = deliverByPush({ store, clock });
  const loop = new DeliveryLoop({
    store,
    wakeups,
    clock,
    random: () => 0,
    logger: createLogger('test', 'silent'),
    sign: async (rendered) => rendered,
    open: async (target) => {
      const id = target.mode === 'push' ? target.clusterId : '';
      const connection = connections.get(id) ?? connect(urls.get(id) ?? '', clock);
      connections.set(id, connection);
      return deliverTo(connection, { id });
    },
  });
  running = loop.run(stop.signal);
  // The clock stands still: nothing has timed out.
  await expect.poll(async () => await stateOf(first), soon).toBe('delivered');
  // One request for each: what waits behind it is not tried against a server that does not answer.
  await expect.poll(() => hanging.sockets.size, soon).toBe(DEAD / 2);

  // All of them have failed by now, some of them more than once.
  const settle = async (ms: number): Promise<void> => {
    for (let moved = 0; moved < ms; moved += 500) {
      clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await settle(3 * TIMEOUT_MS);
  const later = await accept(healthy, 'later');
  await expect.poll(async () => await stateOf(later), soon).toBe('delivered');
  expect(new Set(await Promise.all(dead.map(stateOf)))).toEqual(new Set(['accepted']));

  // Nobody is there to report it: what is absent has been removed.
  const instance = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop' };
  await using admin = connect(sandbox.url, systemClock);
  await admin.delete({ ...instance, name: 'later' });
  const end = await accept(healthy, 'later', { action: 'uninstall', namespace: 'shop' });
  await expect.poll(async () => await stateOf(end), soon).toBe('removed');
}, 60_000);
