import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintToken } from '../../../src/protocol/token.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const CLUSTER = {
  slug: 'prod-eu',
  displayName: 'Production, Europe',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
};

async function register(registrationToken: string) {
  return await plane.call('POST', '/api/agent/register', { token: registrationToken }, { token: null });
}

describe('who may call', () => {
  it.for([
    ['no token', null, 'missing_token'],
    ['an unknown token', mintToken('svcadm', randomBytes).expose(), 'invalid_token'],
    ['a token of another kind', mintToken('svcagt', randomBytes).expose(), 'invalid_token'],
    ['an empty bearer', '', 'invalid_token'],
  ] as const)('refuses %s', async ([, token, code]) => {
    const answer = await plane.call('GET', '/clusters', undefined, { token });
    expect(answer).toMatchObject({ status: 401, body: { error: code, requestId: expect.any(String) } });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('refuses an expired token', async () => {
    const token = plane.addOrganization('expired');
    await plane.execute("UPDATE admin_tokens SET expires_at = '2020-01-01T00:00:00.000Z' WHERE name = 'expired-admin'");
    expect(await plane.call('GET', '/clusters', undefined, { token })).toMatchObject({
      status: 401,
      body: { error: 'expired_token' },
    });
  });

  it('stores no token in the clear', () => {
    const [row] = plane.query("SELECT * FROM admin_tokens WHERE name = 'admin'");
    expect(JSON.stringify(row)).not.toContain(plane.token);
    expect(row?.['token_hash']).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('POST /clusters', () => {
  it('makes a Pending record in pull mode by default, with a registration token that works once', async () => {
    const answer = await plane.call('POST', '/clusters', CLUSTER);
    expect(answer).toMatchObject({
      status: 201,
      body: {
        cluster: {
          id: expect.stringMatching(/^c-[0-9a-hjkmnp-tv-z]{16}$/),
          slug: 'prod-eu',
          displayName: 'Production, Europe',
          organization: 'default',
          status: 'Pending',
          connectivityMode: 'pull',
          allowedNamespaces: ['shop'],
          intervals: { rotateSeconds: 604_800, heartbeatSeconds: 60, eventBatchMs: 1000, eventBatchSize: 100 },
        },
        registrationToken: expect.stringMatching(/^svcreg_/),
        registrationTokenExpiresAt: expect.any(String),
      },
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body['cluster'].lastContactAt).toBeUndefined();
    const token = String(answer.body['registrationToken']);
    expect((await register(token)).status).toBe(200);
    expect(await register(token)).toMatchObject({ status: 401, body: { error: 'registration_token_used' } });
    const { body } = await plane.call('GET', '/clusters/prod-eu');
    expect(body).toMatchObject({
      status: 'Active',
      lastContactAt: expect.any(String),
      credential: { expiresAt: expect.any(String), rotateAfter: expect.any(String) },
    });
    expect(body['conditions']).toEqual([
      expect.objectContaining({ type: 'Connected', status: 'True', reason: 'WithinHeartbeat' }),
      expect.objectContaining({ type: 'Disconnected', status: 'False', reason: 'WithinHeartbeat' }),
      expect.objectContaining({ type: 'Expired', status: 'False', reason: 'CredentialValid' }),
    ]);
  });

  it.for([
    ['an unknown field', { mode: 'gitops' }, 400, '/mode'],
    ['a slug with a capital', { slug: 'Prod' }, 400, '/slug'],
    ['a slug that climbs', { slug: '../x' }, 400, '/slug'],
    ['a slug like a cluster id', { slug: 'c-0123456789abcdef' }, 400, '/slug'],
    ['an unknown mode', { slug: 'a', connectivityMode: 'ssh' }, 400, '/connectivityMode'],
    ['a namespace that is none', { slug: 'a', allowedNamespaces: ['shop', 'a/b'] }, 400, '/allowedNamespaces/1'],
    ['a namespace twice', { slug: 'a', allowedNamespaces: ['shop', 'shop'] }, 400, '/allowedNamespaces'],
    ['text instead of a list', { slug: 'a', allowedNamespaces: 'shop' }, 400, '/allowedNamespaces'],
    ['a display name of two lines', { slug: 'a', displayName: 'a\nb' }, 400, '/displayName'],
    ['git in pull mode', { slug: 'a', git: { repository: 'fleet' } }, 400, '/git'],
    ['another review', { slug: 'a', connectivityMode: 'gitops', git: { review: 'none' } }, 400, '/git/review'],
    [
      'a repository that climbs',
      { slug: 'a', connectivityMode: 'gitops', git: { repository: '../x' } },
      400,
      '/git/repository',
    ],
    ['a heartbeat of nothing', { slug: 'a', intervals: { heartbeatSeconds: 0 } }, 400, '/intervals/heartbeatSeconds'],
    ['a slug that is taken', {}, 409, '/slug'],
  ] as const)('refuses %s and stores nothing', async ([, change, status, path]) => {
    const before = plane.query('SELECT count(*) AS n FROM clusters UNION ALL SELECT count(*) FROM audit');
    const answer = await plane.call('POST', '/clusters', { ...CLUSTER, ...change });
    expect(answer.status).toBe(status);
    expect(answer.body['faults'].map((fault: { path: string }) => fault.path)).toContain(path);
    expect(plane.query('SELECT count(*) AS n FROM clusters UNION ALL SELECT count(*) FROM audit')).toEqual(before);
  });

  it('lets one of two with the same slug win', async () => {
    const both = await Promise.all(
      [1, 2].map(async () => await plane.call('POST', '/clusters', { ...CLUSTER, slug: 'twin' })),
    );
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
  });
});

describe('GET /clusters', () => {
  it('pages by slug and finds one by id or slug', async () => {
    for (const slug of ['page-a', 'page-b', 'page-c']) await plane.newCluster(slug);
    const first = await plane.call('GET', '/clusters?limit=2');
    expect(first.body['items']).toHaveLength(2);
    const rest = await plane.call('GET', `/clusters?limit=500&cursor=${first.body['nextCursor']}`);
    const slugs = [...first.body['items'], ...rest.body['items']].map(({ slug }: { slug: string }) => slug);
    expect(slugs).toEqual(plane.query('SELECT slug FROM clusters ORDER BY slug').map(({ slug }) => slug));
    expect(rest.body['nextCursor']).toBeUndefined();
    const bySlug = await plane.call('GET', '/clusters/page-a');
    expect(await plane.call('GET', `/clusters/${bySlug.body['id']}`)).toMatchObject({ body: bySlug.body });
  });

  it.for([
    ['limit=0', '/limit'],
    ['limit=501', '/limit'],
    ['limit=ten', '/limit'],
    ['cursor=abc', '/cursor'],
    ['cursor=WzFd', '/cursor'],
    ['order=slug', '/order'],
  ])('refuses ?%s', async ([query, path]) => {
    const answer = await plane.call('GET', `/clusters?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated', faults: [{ path }] } });
  });
});

describe('POST /clusters in mode push', () => {
  it('says that there is no credential yet, which it says in no other mode', async () => {
    const warningsIn = async (slug: string, connectivityMode: string): Promise<unknown> => {
      const lists = { allowedNamespaces: [], allowedCatalogEntries: [], allowedOperationTemplates: [] };
      const record = { slug, displayName: slug, connectivityMode, ...lists };
      const { status, body } = await plane.call('POST', '/clusters', record);
      return [status, body['warnings']];
    };
    expect(await warningsIn('warned', 'push')).toEqual([
      201,
      [
        'push mode has no credential for this cluster: intents are accepted and wait until it is given one (servicectl clusters push-credential warned --kubeconfig FILE)',
      ],
    ]);
    expect(await warningsIn('pulled', 'pull')).toEqual([201, undefined]);
    expect(await warningsIn('by-git', 'gitops')).toEqual([201, undefined]);
  });
});

describe('PATCH /clusters/{id}', () => {
  it('says of what a cluster keeps that it cannot be changed, not that it is not known', async () => {
    await plane.newCluster('kept');
    const answer = await plane.call('PATCH', '/clusters/kept', {
      slug: 'a',
      connectivityMode: 'pull',
      git: { repository: 'other' },
      id: 'x',
    });
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated' } });
    expect(answer.body['faults'].map(({ path, message }: Record<string, string>) => `${path} ${message}`)).toEqual([
      expect.stringMatching(/^\/id cannot be changed: /),
      expect.stringMatching(/^\/slug cannot be changed: /),
      '/connectivityMode is changed by a switch, which hands the objects over: POST /clusters/{id}/mode (servicectl clusters mode)',
      expect.stringMatching(/^\/git\/repository is kept for a stay in gitops mode: /),
    ]);
  });

  it('changes lists, name and single intervals, raises the config revision once and audits it', async () => {
    const id = await plane.newCluster('patched');
    const revision = () => Number(plane.query('SELECT config_revision AS r FROM clusters WHERE id = ?', id)[0]?.['r']);
    const before = revision();
    const change = { displayName: 'New', allowedNamespaces: ['shop', 'web'], intervals: { eventBatchMs: 20 } };
    expect(await plane.call('PATCH', '/clusters/patched', change)).toMatchObject({
      status: 200,
      body: {
        id,
        displayName: 'New',
        allowedNamespaces: ['shop', 'web'],
        allowedCatalogEntries: ['podinfo'],
        intervals: { rotateSeconds: 604_800, heartbeatSeconds: 60, eventBatchMs: 20, eventBatchSize: 100 },
      },
    });
    expect(revision()).toBe(before + 1);
    const audit = await plane.call('GET', '/audit?cluster=patched&kind=ClusterUpdated');
    expect(audit.body['items']).toEqual([
      expect.objectContaining({
        source: 'user',
        kind: 'ClusterUpdated',
        clusterId: id,
        actor: 'admin',
        summary: 'cluster patched updated: display name, allowed namespaces, intervals',
      }),
    ]);
    await plane.call('PATCH', '/clusters/patched', change);
    expect(revision()).toBe(before + 1);
  });

  it('refuses what cannot be changed', async () => {
    for (const body of [{ slug: 'x' }, { connectivityMode: 'pull' }, { status: 'Active' }]) {
      const answer = await plane.call('PATCH', '/clusters/patched', body);
      expect(answer).toMatchObject({ status: 400, body: { faults: [{ path: `/${Object.keys(body)[0]}` }] } });
    }
  });

  it('wakes the held /config request of the cluster', async () => {
    const created = await plane.call('POST', '/clusters', { ...CLUSTER, slug: 'held' });
    const agent = await register(String(created.body['registrationToken']));
    const options = (etag: string) => ({ token: String(agent.body['token']), headers: { 'if-none-match': etag } });
    const current = await plane.call('GET', '/api/agent/config?wait=0', undefined, {
      token: String(agent.body['token']),
    });
    const held = plane.call('GET', '/api/agent/config?wait=30', undefined, options(current.headers.get('etag') ?? ''));
    await plane.call('PATCH', '/clusters/held', { allowedNamespaces: ['other'] });
    expect(await held).toMatchObject({ status: 200, body: { allowed_namespaces: ['other'] } });
  });
});

describe('the state of a cluster', () => {
  it('ends unused registration tokens when a new one is issued', async () => {
    const created = await plane.call('POST', '/clusters', { ...CLUSTER, slug: 'tokens' });
    const issued = await plane.call('POST', '/clusters/tokens/registration-token');
    expect(issued).toMatchObject({ status: 201, body: { registrationToken: expect.stringMatching(/^svcreg_/) } });
    expect(await register(String(created.body['registrationToken']))).toMatchObject({
      status: 401,
      body: { error: 'registration_token_expired' },
    });
    expect((await register(String(issued.body['registrationToken']))).status).toBe(200);
  });

  it('revokes every credential, and a registration with a fresh token brings the cluster back', async () => {
    const created = await plane.call('POST', '/clusters', { ...CLUSTER, slug: 'revoked' });
    const agent = await register(String(created.body['registrationToken']));
    const config = async (token: string) => await plane.call('GET', '/api/agent/config?wait=0', undefined, { token });
    expect((await config(String(agent.body['token']))).status).toBe(200);
    expect(await plane.call('POST', '/clusters/revoked/revoke')).toMatchObject({
      status: 200,
      body: { slug: 'revoked' },
    });
    expect(await config(String(agent.body['token']))).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    const issued = await plane.call('POST', '/clusters/revoked/registration-token');
    const again = await register(String(issued.body['registrationToken']));
    expect((await config(String(again.body['token']))).status).toBe(200);
  });

  it('disables and enables, each once in the audit, and ends a held request with 403', async () => {
    const created = await plane.call('POST', '/clusters', { ...CLUSTER, slug: 'paused' });
    const agent = await register(String(created.body['registrationToken']));
    const token = String(agent.body['token']);
    const current = await plane.call('GET', '/api/agent/config?wait=0', undefined, { token });
    const headers = { 'if-none-match': current.headers.get('etag') ?? '' };
    const held = plane.call('GET', '/api/agent/config?wait=30', undefined, { token, headers });
    const disabled = await plane.call('POST', '/clusters/paused/disable');
    expect(disabled.body['disabledAt']).toEqual(expect.any(String));
    expect(await held).toMatchObject({ status: 403, body: { error: 'cluster_disabled' } });
    await plane.call('POST', '/clusters/paused/disable');
    const enabled = await plane.call('POST', '/clusters/paused/enable');
    expect(enabled.body['disabledAt']).toBeUndefined();
    expect((await plane.call('GET', '/api/agent/config?wait=0', undefined, { token })).status).toBe(200);
    const audit = await plane.call('GET', '/audit?cluster=paused&source=user');
    expect(audit.body['items'].map(({ kind }: { kind: string }) => kind)).toEqual([
      'ClusterEnabled',
      'ClusterDisabled',
      'ClusterCreated',
    ]);
  });

  it('takes no body where there is nothing to say', async () => {
    expect(await plane.call('POST', '/clusters/prod-eu/disable', { force: true })).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/force' }] },
    });
  });
});
