import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let clusterId: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('POST /clusters/{id}/intents', () => {
  it('takes an install, an update and an uninstall, each with a commit and a receipt of its own', async () => {
    const accepted = await plane.call('POST', `/clusters/${clusterId}/intents`, {
      ...INSTALL,
      name: 'life',
      reason: 'first look',
    });
    expect(accepted).toMatchObject({
      status: 202,
      body: { id: expect.stringMatching(/^int-/), generation: 1, state: 'accepted' },
    });
    const id = String(accepted.body['id']);
    expect(accepted.headers.get('location')).toBe(`/api/v1/intents/${id}`);
    const delivered = await plane.until(id, 'delivered');
    expect(delivered).toEqual({
      id,
      clusterId,
      action: 'install',
      namespace: 'shop',
      name: 'life',
      generation: 1,
      state: 'delivered',
      receipt: {
        mode: 'gitops',
        commit: expect.stringMatching(/^[0-9a-f]{40}$/),
        link: expect.stringMatching(/^\/api\/v1\/repositories\/fleet\/commits\/[0-9a-f]{40}$/),
      },
      requestedBy: 'admin',
      requestReason: 'first look',
      acceptedAt: expect.any(String),
      deliveredAt: expect.any(String),
    });
    const message = await plane.git('show', '--no-patch', '--format=%B', delivered['receipt'].commit);
    expect(message).toContain('prod-eu: install shop/life 6.5.0');
    expect(message).toContain('first look');
    expect(message).toContain(`Intent-Id: ${id}\nCluster-Id: ${clusterId}`);

    const update = await plane.call('POST', '/clusters/prod-eu/intents', {
      action: 'update',
      namespace: 'shop',
      name: 'life',
      chartVersion: '6.6.1',
    });
    expect(update.body['generation']).toBe(2);
    await plane.until(String(update.body['id']), 'delivered');
    expect((await plane.call('GET', `/intents/${id}`)).body['state']).toBe('superseded');
    expect(await plane.git('show', 'main:clusters/prod-eu/apps/shop/life.yaml')).toContain('version: 6.6.1');

    const uninstall = await plane.call('POST', '/clusters/prod-eu/intents', {
      action: 'uninstall',
      namespace: 'shop',
      name: 'life',
    });
    await plane.until(String(uninstall.body['id']), 'delivered');
    const files = await plane.git('ls-tree', '-r', '--name-only', 'main', 'clusters/prod-eu/');
    expect(files).not.toContain('apps/shop/life.yaml');
    expect(files).toContain('tombstones/shop/life.json');
    const audit = await plane.call('GET', '/audit?cluster=prod-eu&source=user');
    const entries = audit.body['items'].filter(({ summary }: { summary: string }) => summary.includes('shop/life'));
    expect(entries.map(({ kind, actor, reason }: Record<string, string>) => [kind, actor, reason])).toEqual([
      ['AppUninstall', 'admin', undefined],
      ['AppUpdate', 'admin', undefined],
      ['Deploy', 'admin', 'first look'],
    ]);
  });

  it('names the UID in the tombstone when the cluster reported it for this installation, and no older one', async () => {
    const send = async (action: string): Promise<string> => {
      const body = action === 'install' ? { ...INSTALL, name: 'tomb' } : { action, namespace: 'shop', name: 'tomb' };
      const { body: accepted } = await plane.call('POST', '/clusters/prod-eu/intents', body);
      await plane.until(String(accepted['id']), 'delivered');
      return await plane.git('log', '-1', '--format=%H', 'main');
    };
    await send('install');
    await plane.execute(
      `INSERT INTO resource_conditions (cluster_id, uid, type, api_version, kind, namespace, name, status, order_key, source, updated_at)
       VALUES (?, 'uid-1', 'Ready', 'apps.service.io/v1alpha1', 'ApplicationInstance', 'shop', 'tomb', 'True', '1', '{"generation":1}', '')`,
      clusterId,
    );
    const tombstone = async (): Promise<unknown> =>
      JSON.parse(await plane.git('show', 'main:clusters/prod-eu/tombstones/shop/tomb.json'));
    await send('uninstall');
    expect(await tombstone()).toMatchObject({ uid: 'uid-1', generation: 2 });
    await send('install');
    await send('uninstall');
    expect(await tombstone()).toMatchObject({ generation: 4 });
    expect(await tombstone()).not.toHaveProperty('uid');
  });

  it('answers a repeated Idempotency-Key with the same intent, and another body under it with 409', async () => {
    const headers = { 'idempotency-key': 'release-42' };
    const body = { ...INSTALL, name: 'once' };
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => await plane.call('POST', '/clusters/prod-eu/intents', body, { headers })),
    );
    const [first] = answers;
    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: first?.body });
    await plane.until(String(first?.body['id']), 'delivered');
    const before = await plane.traces();
    expect(await plane.call('POST', '/clusters/prod-eu/intents', body, { headers })).toMatchObject({
      status: 202,
      body: first?.body,
    });
    expect(
      await plane.call('POST', '/clusters/prod-eu/intents', { ...body, chartVersion: '6.6.0' }, { headers }),
    ).toMatchObject({ status: 409, body: { error: 'conflict', intentId: first?.body['id'] } });
    expect(await plane.traces()).toEqual(before);
    expect(plane.query("SELECT count(*) AS n FROM intents WHERE name = 'once'")).toEqual([{ n: 1 }]);
  });

  it('gives concurrent intents of one object consecutive generations', async () => {
    const { body: installed } = await plane.call('POST', '/clusters/prod-eu/intents', { ...INSTALL, name: 'counted' });
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        async (_, index) =>
          await plane.call('POST', '/clusters/prod-eu/intents', {
            action: 'update',
            namespace: 'shop',
            name: 'counted',
            values: { replicaCount: index },
          }),
      ),
    );
    const generations = answers.map(({ body }) => Number(body['generation'])).toSorted((a, b) => a - b);
    expect([Number(installed['generation']), ...generations]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const last = answers.find(({ body }) => body['generation'] === 9);
    await plane.until(String(last?.body['id']), 'delivered');
    const rows = plane.query(
      "SELECT i.generation, i.state, CASE WHEN r.commit_id IS NULL THEN 0 ELSE 1 END AS receipt FROM intents i LEFT JOIN receipts r ON r.intent_id = i.id WHERE name = 'counted' ORDER BY generation",
    );
    expect(rows.map(({ receipt }) => receipt)).toEqual(Array.from({ length: 9 }, () => 1));
    expect(rows.map(({ state }) => state)).toEqual([...Array.from({ length: 8 }, () => 'superseded'), 'delivered']);
  });

  it('pages through the intents of a cluster, the newest first', async () => {
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await plane.call('GET', `/clusters/prod-eu/intents?limit=3${cursor}`);
      seen.push(...body['items'].map(({ id }: { id: string }) => id));
      cursor = body['nextCursor'] === undefined ? '' : `&cursor=${body['nextCursor']}`;
    } while (cursor !== '');
    const rows = plane.query(
      'SELECT id FROM intents WHERE cluster_id = ? ORDER BY accepted_at DESC, id DESC',
      clusterId,
    );
    expect(seen).toEqual(rows.map(({ id }) => id));
    expect(seen.length).toBeGreaterThan(10);
  });
});
