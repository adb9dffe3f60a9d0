import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../support/manual-clock.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import { registerAgent } from './running-agent.ts';

const DEFAULTS = { rotateSeconds: 604_800, heartbeatSeconds: 60, eventBatchMs: 1000, eventBatchSize: 100 };

describe('GET and PATCH /organization', () => {
  it('starts with the defaults of the specification', async () => {
    await using plane = await RunningControlPlane.start();
    const { status, body } = await plane.call('GET', '/organization');
    expect([status, body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^org-/) as string,
        name: 'default',
        intervals: DEFAULTS,
        rotationGraceSeconds: 86_400,
        createdAt: expect.any(String) as string,
      },
    ]);
  });

  it('reaches the clusters that set nothing of their own, the new and the old, and leaves what was set on one', async () => {
    await using plane = await RunningControlPlane.start();
    const plain = await plane.newCluster('plain');
    await plane.newCluster('own', { intervals: { rotateSeconds: 3600 } });
    const agent = await registerAgent(plane, plain);
    const before = await agent.get('/api/agent/config');
    const change = { intervals: { rotateSeconds: 86_400, heartbeatSeconds: 30 }, rotationGraceSeconds: 3600 };
    const answer = await plane.call('PATCH', '/organization', change);
    expect(answer.body).toMatchObject({
      intervals: { ...DEFAULTS, rotateSeconds: 86_400, heartbeatSeconds: 30 },
      rotationGraceSeconds: 3600,
    });
    await plane.newCluster('new');
    const { body } = await plane.call('GET', '/clusters');
    const seen = body['items'].map((one: Record<string, unknown>) => [
      one['slug'],
      one['intervals'],
      one['ownIntervals'],
    ]);
    const followed = { ...DEFAULTS, rotateSeconds: 86_400, heartbeatSeconds: 30 };
    expect(seen).toEqual([
      ['new', followed, []],
      ['own', { ...followed, rotateSeconds: 3600 }, ['rotateSeconds']],
      ['plain', followed, []],
    ]);
    const after = await agent.get('/api/agent/config');
    expect(after.body['intervals']).toMatchObject({ rotate_seconds: 86_400, heartbeat_seconds: 30 });
    expect(after.headers.get('service-config-revision')).not.toBe(before.headers.get('service-config-revision'));
    const { body: audit } = await plane.call('GET', '/audit?kind=OrganizationUpdated');
    expect(audit['items']).toMatchObject([{ source: 'user', actor: 'admin' }]);
  });

  it('changes nothing when it says what holds already', async () => {
    await using plane = await RunningControlPlane.start();
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu'));
    await plane.call('PATCH', '/organization', { rotationGraceSeconds: 3600 });
    const before = await agent.get('/api/agent/config');
    await plane.call('PATCH', '/organization', { rotationGraceSeconds: 3600, intervals: {} });
    const after = await agent.get('/api/agent/config');
    expect(after.headers.get('service-config-revision')).toBe(before.headers.get('service-config-revision'));
    expect(plane.query("SELECT id FROM audit WHERE kind = 'OrganizationUpdated'")).toHaveLength(1);
  });

  it('lets a cluster go back to following, one interval or all of them', async () => {
    await using plane = await RunningControlPlane.start();
    await plane.newCluster('prod-eu', { intervals: { rotateSeconds: 3600, heartbeatSeconds: 10 } });
    const one = await plane.call('PATCH', '/clusters/prod-eu', { intervals: { rotateSeconds: null } });
    expect([one.body['intervals'].rotateSeconds, one.body['ownIntervals']]).toEqual([604_800, ['heartbeatSeconds']]);
    // Setting what holds anyway makes it the cluster's own.
    await plane.call('PATCH', '/clusters/prod-eu', { intervals: { eventBatchMs: 1000 } });
    await plane.call('PATCH', '/organization', { intervals: { eventBatchMs: 500 } });
    const own = await plane.call('GET', '/clusters/prod-eu');
    expect(own.body['intervals'].eventBatchMs).toBe(1000);
    const all = await plane.call('PATCH', '/clusters/prod-eu', { intervals: null });
    expect([all.body['intervals'], all.body['ownIntervals']]).toEqual([{ ...DEFAULTS, eventBatchMs: 500 }, []]);
    const back = await plane.call('PATCH', '/organization', { intervals: { eventBatchMs: null } });
    expect(back.body['intervals']).toEqual(DEFAULTS);
  });

  it('holds for the next rotation: the interval with its jitter, and the grace period', async () => {
    const clock = new ManualClock();
    await using plane = await RunningControlPlane.start(clock);
    await plane.call('PATCH', '/organization', { intervals: { rotateSeconds: 3600 }, rotationGraceSeconds: 600 });
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu'));
    const due = Date.parse(agent.registration.rotate_after) - clock.now().getTime();
    expect(due).toBeGreaterThanOrEqual(2_520_000);
    expect(due).toBeLessThanOrEqual(3_600_000);
    const { token } = agent.registration;
    expect((await plane.call('POST', '/api/agent/credentials/rotate', undefined, { token })).status).toBe(200);
    clock.advance(600_000);
    expect(await agent.get('/api/agent/config')).toMatchObject({ status: 401, body: { error: 'expired_token' } });
  });

  it.each([
    [{ rotationGraceSeconds: 59 }, '/rotationGraceSeconds'],
    [{ rotationGraceSeconds: 604_801 }, '/rotationGraceSeconds'],
    [{ intervals: { rotateSeconds: 1 } }, '/intervals/rotateSeconds'],
    [{ other: 1 }, '/other'],
  ])('refuses %j with its path', async (body, path) => {
    await using plane = await RunningControlPlane.start();
    const answer = await plane.call('PATCH', '/organization', body);
    expect([answer.status, answer.body['faults'][0].path]).toEqual([400, path]);
  });

  it('says of an interval between which bounds it must be, of an organization and of a cluster', async () => {
    await using plane = await RunningControlPlane.start();
    await plane.newCluster('prod-eu');
    const intervals = { rotateSeconds: 2_592_001, heartbeatSeconds: Number.MAX_SAFE_INTEGER };
    const faults = [
      { path: '/intervals/rotateSeconds', message: 'must be from 60 to 2592000' },
      { path: '/intervals/heartbeatSeconds', message: 'must be from 1 to 3600' },
    ];
    const created = await plane.call('POST', '/clusters', { intervals });
    expect(created.body['faults']).toEqual(
      expect.arrayContaining(faults.map((fault) => expect.objectContaining(fault) as unknown)),
    );
    for (const path of ['/organization', '/clusters/prod-eu']) {
      expect(await plane.call('PATCH', path, { intervals })).toMatchObject({ status: 400, body: { faults } });
    }
    const half = await plane.call('PATCH', '/clusters/prod-eu', { intervals: { rotateSeconds: 'weekly' } });
    expect(half.body['faults']).toEqual([
      { path: '/intervals/rotateSeconds', message: 'must be an integer', allowed: 'integer' },
    ]);
    const longest = { rotateSeconds: 2_592_000, heartbeatSeconds: 3600 };
    expect((await plane.call('PATCH', '/organization', { intervals: longest })).status).toBe(200);
  });

  it('takes longer intervals that are stored for the longest that there may be', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('prod-eu');
    const stored = JSON.stringify({
      rotate_seconds: Number.MAX_SAFE_INTEGER,
      heartbeat_seconds: Number.MAX_SAFE_INTEGER,
      event_batch_ms: 1000,
      event_batch_size: 100,
    });
    await plane.execute('UPDATE clusters SET intervals = ?, own_intervals = ? WHERE id = ?', stored, stored, id);
    const agent = await registerAgent(plane, id);
    const config = await agent.get('/api/agent/config');
    expect(config.body['intervals']).toMatchObject({ rotate_seconds: 2_592_000, heartbeat_seconds: 3600 });
    const { body } = await plane.call('GET', '/clusters/prod-eu');
    expect(body['intervals']).toMatchObject({ rotateSeconds: 2_592_000, heartbeatSeconds: 3600 });
  });
});
