import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sql } from 'kysely';
import { systemClock } from '../../src/runtime/clock.ts';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../control-plane/running-control-plane.ts';
import { insertOrganization, organizationIds } from '../control-plane/store/open-test-store.ts';
import { openStoreAt } from '../control-plane/store/open-store-at.ts';
import { CommitCutter } from '../support/postgres/commit-cutter.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

const SECONDS = { timeout: 20_000, interval: 50 };

let server: PostgresServer;
beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

function cluster(slug: string): Record<string, unknown> {
  return {
    slug,
    displayName: slug,
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    connectivityMode: 'pull',
  };
}

function expectUnavailable(answer: Answer): void {
  expect(answer).toMatchObject({
    status: 503,
    body: { error: 'unavailable', requestId: expect.any(String) as string },
  });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}

describe('S2: a database that is gone for a while', () => {
  it(
    'is answered with 503 and Retry-After, and is used again when it is back; polls that are held stay',
    { timeout: 60_000 },
    async () => {
      await using plane = await RunningControlPlane.start(systemClock, {
        SERVICE_DATABASE_URL: await server.createDatabase(),
      });
      await plane.putPodinfo();
      await plane.newCluster('prod-eu', { connectivityMode: 'pull' });
      const agent = await registerAgent(plane, 'prod-eu');
      const held = agent.get(`/api/agent/jobs?cluster=${agent.id}&wait=50`);
      // Those that came before are held by the time that a later one was answered.
      for (let n = 0; n < 3; n += 1) await agent.get(`/api/agent/jobs?cluster=${agent.id}&wait=0`);
      await server.stop();
      expectUnavailable(await plane.call('GET', '/clusters'));
      expectUnavailable(await plane.call('POST', '/clusters', cluster('new')));
      expectUnavailable(await plane.call('POST', '/clusters/prod-eu/intents', INSTALL));
      expectUnavailable(await agent.post('/api/agent/events', { events: [] }));
      expect((await fetch(`${plane.url}/healthz`)).status).toBe(200);
      const notReady = await fetch(`${plane.url}/readyz`);
      expect([notReady.status, notReady.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await notReady.text()).not.toContain(server.password);
      await server.startAgain();
      await vi.waitFor(async () => {
        expect((await plane.call('POST', '/clusters', cluster('new'))).status).toBe(201);
      }, SECONDS);
      expect((await fetch(`${plane.url}/readyz`)).status).toBe(200);
      expect(plane.query('SELECT slug FROM clusters ORDER BY slug')).toEqual([{ slug: 'new' }, { slug: 'prod-eu' }]);
      // The poll was not told of anything while it was held, and gets its job.
      const accepted = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
      expect(accepted).toMatchObject({ status: 202, body: { generation: 1 } });
      expect((await held).body).toMatchObject({ jobs: [{ kind: 'apply' }] });
      await plane.until(String(accepted.body['id']), 'delivered');
    },
  );

  it('costs a write nothing when its connection is cut before it commits: it is done once, or not at all', async () => {
    await using store = await openStoreAt(await server.createDatabase());
    let cuts = 1;
    const write = async (): Promise<void> =>
      await store.write(async (trx) => {
        await trx.insertInto('organizations').values({ id: 'org-1', name: 'org-1', created_at: '' }).execute();
        if (cuts > 0) {
          cuts -= 1;
          await sql`SELECT pg_terminate_backend(pg_backend_pid())`.execute(trx);
        }
      });
    await write();
    expect(await organizationIds(store)).toEqual(['org-1']);
    await store.write(async (trx) => await trx.deleteFrom('organizations').execute());
    cuts = 2;
    await expect(write()).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
    expect(await organizationIds(store)).toEqual([]);
    await insertOrganization(store, 'org-2');
    expect(await organizationIds(store)).toEqual(['org-2']);
  });

  it.each([
    ['before', []],
    ['after', ['org-1']],
  ] as const)(
    'does not say of a COMMIT that was cut %s the server did it that nothing was stored',
    async (when, stored) => {
      const url = await server.createDatabase();
      await using cutter = await CommitCutter.start(server.port);
      await using store = await openStoreAt(url.replace(`:${server.port}/`, `:${cutter.port}/`));
      cutter.cut = when;
      await expect(insertOrganization(store, 'org-1')).rejects.toMatchObject({
        code: 'unavailable',
        message: 'the database was lost while it stored this; look whether it is there before you send it again',
      });
      await vi.waitFor(async () => expect(await organizationIds(store)).toEqual(stored), SECONDS);
      await insertOrganization(store, 'org-2');
    },
  );

  it('ends every connection of idle pools without ending the program', async () => {
    const url = await server.createDatabase();
    await using store = await openStoreAt(url);
    await Promise.all(Array.from({ length: 8 }, async (_, n) => await insertOrganization(store, `org-${n}`)));
    await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()', url);
    await vi.waitFor(async () => expect(await organizationIds(store)).toHaveLength(8), SECONDS);
    await insertOrganization(store, 'org-8');
  });

  it('goes on through a newer version that changes its tables under statements that were prepared', async () => {
    const url = await server.createDatabase();
    await using store = await openStoreAt(`${url}?pool_max_conns=3`);
    await insertOrganization(store, 'org-1');
    const all = async (): Promise<unknown[]> => await store.db.selectFrom('organizations').selectAll().execute();
    const touch = async (): Promise<number> =>
      await store.write(async (trx) => (await trx.selectFrom('organizations').selectAll().execute()).length);
    for (let n = 0; n < 5; n += 1) expect([await touch(), (await all()).length]).toEqual([1, 1]);
    await server.query('ALTER TABLE organizations ADD COLUMN later text', url);
    expect(await touch()).toBe(1);
    await vi.waitFor(async () => expect(await all()).toMatchObject([{ id: 'org-1', later: null }]), SECONDS);
  });

  it('waits for nobody for ever: what another has locked is answered with 503', async () => {
    const url = await server.createDatabase();
    await using store = await openStoreAt(`${url}?lock_timeout=200&statement_timeout=400`);
    await using other = await openStoreAt(url);
    await other.write(async (trx) => {
      await sql`LOCK TABLE organizations IN ACCESS EXCLUSIVE MODE`.execute(trx);
      await expect(insertOrganization(store, 'org-1')).rejects.toMatchObject({ code: 'unavailable' });
      await expect(organizationIds(store)).rejects.toMatchObject({ code: 'unavailable' });
    });
    await insertOrganization(store, 'org-1');
    const slow = sql`SELECT pg_sleep(5)`.execute(store.db);
    await expect(slow).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 });
  });
});
