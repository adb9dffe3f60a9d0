import { describe, expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { decoded } from '../operator/operator-world.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { AbsenceStage } from './absence-stage.ts';

const CREDENTIALS = 'service-operator-credentials';
const HOUR_MS = 3_600_000;

/** How often a credential was refused. */
const refusals = (proxy: FaultyProxy): number => proxy.count('/api/agent/', 401);

describe.each(['pull', 'gitops'] as const)('A7: rotation, in %s mode', (mode) => {
  it('whose answer is lost costs another try; every loop takes the new credential', { timeout: 60_000 }, async () => {
    await using stage = await AbsenceStage.start(mode);
    const { plane, world, clusterId } = stage.system;
    await using proxy = await FaultyProxy.start(plane.url);
    await world.setSpec({ controlPlaneBaseUrl: proxy.url });
    await stage.system.bring(INSTALL, 'ready');
    const before = decoded(await world.secret(CREDENTIALS), 'token');
    let losses = 1;
    proxy.fault = ({ path }) => (path.endsWith('/rotate') && losses-- > 0 ? 'lost' : undefined);
    expect((await plane.call('POST', `/clusters/${clusterId}/rotate`)).status).toBe(200);
    await world.until('Authenticated', 'True', 'CredentialRotated');
    expect(decoded(await world.secret(CREDENTIALS), 'token')).not.toBe(before);
    expect([proxy.count('/rotate', undefined), proxy.count('/rotate', 200)]).toEqual([1, 1]);
    await stage.system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    expect(refusals(proxy)).toBe(0);
  });

  it(
    'that a crash keeps from being saved: the old credential works through the grace period',
    { timeout: 60_000 },
    async () => {
      await using stage = await AbsenceStage.start(mode);
      const { plane, world, clusterId } = stage.system;
      await using proxy = await FaultyProxy.start(plane.url);
      await world.setSpec({ controlPlaneBaseUrl: proxy.url });
      await stage.system.bring(INSTALL, 'ready');
      const before = decoded(await world.secret(CREDENTIALS), 'token');
      const heal = world.cluster.sandbox.faults.add({
        match: ({ method, path }) => method === 'PATCH' && path.endsWith(`/secrets/${CREDENTIALS}`),
        respond: { status: 500, body: '{"kind":"Status","code":500,"reason":"InternalError","message":"not now"}' },
      });
      expect((await plane.call('POST', `/clusters/${clusterId}/rotate`)).status).toBe(200);
      await expect.poll(() => proxy.count('/rotate', 200), { timeout: 15_000 }).toBeGreaterThan(0);
      await world.stopAll();
      heal();
      expect(decoded(await world.secret(CREDENTIALS), 'token')).toBe(before);
      // It comes back when most of the grace period is over.
      stage.clock.skip(23 * HOUR_MS);
      await world.start(stage.clock);
      await world.until('Authenticated', 'True', 'CredentialRotated');
      expect(decoded(await world.secret(CREDENTIALS), 'token')).not.toBe(before);
      await stage.system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
      expect(refusals(proxy)).toBe(0);
    },
  );
});
