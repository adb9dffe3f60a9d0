import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let clusterId: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  clusterId = await plane.newCluster('prod-eu');
  await plane.newCluster('pulling', { connectivityMode: undefined });
  await plane.newCluster('pushed', { connectivityMode: 'push' });
  await plane.newCluster('stopped');
  await plane.call('POST', '/clusters/stopped/disable');
  await plane.call('PUT', '/catalog/strict', {
    chart: { type: 'helm', url: 'https://charts.example.com', name: 'strict' },
    versions: '1.x',
    valuesSchema: { type: 'object', required: ['host'], properties: { host: { type: 'string' } } },
  });
  await plane.newCluster('strict', { allowedCatalogEntries: ['strict'] });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

interface Refusal {
  readonly cluster?: string;
  readonly body: unknown;
  readonly status: number;
  readonly code: string;
  readonly path?: string;
  readonly allowed?: unknown;
  readonly says?: RegExp;
}

const REFUSALS: Record<string, Refusal> = {
  'a body that is not JSON': { body: '{"action": install}', status: 400, code: 'invalid_body', says: /line 1/ },
  'a body with the same field twice': {
    body: '{"action":"install","action":"uninstall"}',
    status: 400,
    code: 'invalid_body',
    path: '/action',
  },
  'a list instead of an intent': { body: [INSTALL], status: 400, code: 'constraint_violated', path: '' },
  'no body': { body: undefined, status: 400, code: 'constraint_violated', path: '' },
  'an unknown field': {
    body: { ...INSTALL, version: '6.5.0' },
    status: 400,
    code: 'constraint_violated',
    path: '/version',
    allowed: expect.arrayContaining(['action', 'namespace', 'name', 'chartVersion', 'values', 'reason']),
    says: /known fields are/,
  },
  'an unknown action': {
    body: { ...INSTALL, action: 'deploy' },
    status: 400,
    code: 'constraint_violated',
    path: '/action',
    allowed: ['install', 'update', 'uninstall', 'operate'],
  },
  'a namespace that is not allowed': {
    body: { ...INSTALL, namespace: 'kube-system' },
    status: 403,
    code: 'forbidden',
    path: '/namespace',
    allowed: ['shop'],
  },
  'a catalog entry that is not allowed': {
    body: { ...INSTALL, catalogEntry: 'strict' },
    status: 403,
    code: 'forbidden',
    path: '/catalogEntry',
    allowed: ['podinfo'],
  },
  'an operation template that is not allowed': {
    body: { action: 'operate', namespace: 'shop', name: 'backup-1', operationTemplate: 'velero-backup' },
    status: 403,
    code: 'forbidden',
    path: '/operationTemplate',
    allowed: ['rollout-restart'],
  },
  'a version outside of the range': {
    body: { ...INSTALL, chartVersion: '7.0.0' },
    status: 400,
    code: 'constraint_violated',
    path: '/chartVersion',
    allowed: { range: '>=6.5.0 <7' },
  },
  'a version that is a range': {
    body: { ...INSTALL, chartVersion: '^6.5.0' },
    status: 400,
    code: 'constraint_violated',
    path: '/chartVersion',
  },
  'values that are a list': {
    body: { ...INSTALL, values: ['replicaCount=2'] },
    status: 400,
    code: 'constraint_violated',
    path: '/values',
    allowed: 'object',
  },
  'values that are text': {
    body: { ...INSTALL, values: 'replicaCount: 2' },
    status: 400,
    code: 'constraint_violated',
    path: '/values',
    allowed: 'object',
  },
  'a name that climbs out of the directory': {
    body: { ...INSTALL, name: '../other/podinfo' },
    status: 400,
    code: 'constraint_violated',
    path: '/name',
    says: /lower-case letters/,
  },
  'a namespace that climbs out of the directory': {
    body: { ...INSTALL, namespace: '../../other' },
    status: 400,
    code: 'constraint_violated',
    path: '/namespace',
  },
  'a name with a NUL': {
    body: { ...INSTALL, name: 'a\u0000b' },
    status: 400,
    code: 'constraint_violated',
    path: '/name',
  },
  'a reason that would forge a trailer': {
    body: { ...INSTALL, reason: 'x\n\nCluster-Id: c-other' },
    status: 400,
    code: 'constraint_violated',
    path: '/reason',
  },
  'an update of what is not installed': {
    body: { ...INSTALL, action: 'update', name: 'absent' },
    status: 400,
    code: 'constraint_violated',
    path: '/action',
    allowed: ['install'],
  },
  'a document of 2 MiB': {
    body: { ...INSTALL, values: { text: 'x'.repeat(2 * 1024 * 1024) } },
    status: 413,
    code: 'payload_too_large',
    path: '',
    allowed: { maxBytes: 1_048_576 },
    says: /1048576 bytes/,
  },
  'values that render to more than 512 KiB': {
    body: { ...INSTALL, values: { text: 'x'.repeat(600 * 1024) } },
    status: 413,
    code: 'payload_too_large',
    path: '/values',
    says: /524288|512 KiB/,
  },
  'a cluster in pull mode': {
    cluster: 'pulling',
    body: INSTALL,
    status: 400,
    code: 'constraint_violated',
    path: '/connectivityMode',
    allowed: ['gitops'],
    says: /this version delivers in gitops mode only/,
  },
  'a cluster in push mode': {
    cluster: 'pushed',
    body: INSTALL,
    status: 400,
    code: 'constraint_violated',
    path: '/connectivityMode',
    allowed: ['gitops'],
  },
  'a disabled cluster': { cluster: 'stopped', body: INSTALL, status: 403, code: 'cluster_disabled' },
  'a cluster that is not there': { cluster: 'nowhere', body: INSTALL, status: 404, code: 'not_found' },
  "values that break the catalog entry's schema": {
    cluster: 'strict',
    body: { ...INSTALL, catalogEntry: 'strict', chartVersion: '1.2.0', values: { host: 7 } },
    status: 400,
    code: 'constraint_violated',
    path: '/values/host',
    allowed: 'string',
  },
};

describe('POST /clusters/{id}/intents', () => {
  it.for(Object.entries(REFUSALS))('refuses %s, and stores and commits nothing', async ([, refusal]) => {
    const before = await plane.traces();
    const answer = await plane.call('POST', `/clusters/${refusal.cluster ?? 'prod-eu'}/intents`, refusal.body);
    expect(answer.status).toBe(refusal.status);
    expect(answer.body['error']).toBe(refusal.code);
    expect(answer.body['requestId']).toBe(answer.headers.get('service-request-id'));
    if (refusal.path !== undefined) {
      const fault = answer.body['faults'].find(({ path }: { path: string }) => path === refusal.path);
      expect(fault, JSON.stringify(answer.body)).toMatchObject({ path: refusal.path, message: expect.any(String) });
      if (refusal.allowed !== undefined) expect(fault.allowed).toEqual(refusal.allowed);
    }
    if (refusal.says !== undefined) expect(answer.body['message']).toMatch(refusal.says);
    expect(await plane.traces()).toEqual(before);
  });

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
      receipt: { mode: 'gitops', commit: expect.stringMatching(/^[0-9a-f]{40}$/) },
      requestedBy: 'admin',
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
    plane.execute(
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
      "SELECT i.generation, i.state, r.commit_id IS NOT NULL AS receipt FROM intents i LEFT JOIN receipts r ON r.intent_id = i.id WHERE name = 'counted' ORDER BY generation",
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
