import { describe, expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { AbsenceStage } from './absence-stage.ts';

const HOUR_MS = 3_600_000;
const SLOW = { timeout: 20_000, interval: 25 };

describe.each(['pull', 'gitops'] as const)('A15: a control plane that is down for an hour, in %s mode', (mode) => {
  it(
    'holds up nothing in the cluster, makes nothing flap, and hears of all of it in order afterwards',
    { timeout: 120_000 },
    async () => {
      await using stage = await AbsenceStage.start(mode);
      const { plane, world, clusterId } = stage.system;
      for (const name of ['podinfo', 'second', 'calm']) await stage.system.bring({ ...INSTALL, name }, 'ready');
      const calm = await stage.conditions('calm');

      // An upgrade that was asked for, and has come as far as the cluster.
      const letGo = world.cluster.sandbox.faults.add({
        match: ({ method, path }) => method === 'PATCH' && path.endsWith('/helmreleases/podinfo'),
        respond: { status: 503, body: '{"kind":"Status","code":503,"reason":"ServiceUnavailable","message":"busy"}' },
      });
      const update = { ...INSTALL, action: 'update', chartVersion: '6.6.1' };
      const { body: asked } = await plane.call('POST', `/clusters/${clusterId}/intents`, update);
      await expect.poll(async () => await stage.chartVersion('podinfo'), SLOW).toBe('6.6.1');
      await plane.stop();
      stage.forgetWrites();
      letGo();
      // Somebody deletes a release meanwhile.
      const release = {
        apiVersion: 'helm.toolkit.fluxcd.io/v2',
        kind: 'HelmRelease',
        namespace: 'shop',
        name: 'second',
      };
      const { metadata } = (await world.cluster.api.get(release)) ?? {};
      await world.cluster.api.delete(release);
      await stage.pass(HOUR_MS);

      await world.until('Connected', 'False', 'ControlPlaneUnreachable');
      await expect.poll(async () => await stage.releasedVersion('podinfo'), SLOW).toBe('6.6.1');
      await expect
        .poll(async () => (await world.cluster.api.get(release))?.metadata.uid !== metadata?.uid, SLOW)
        .toBe(true);
      for (const name of ['podinfo', 'second']) await stage.untilReady(name);
      expect(await stage.conditions('calm')).toEqual(calm);
      expect(stage.writes().filter((write) => write.includes('/calm'))).toEqual([]);

      const told = stage.newestEvent;
      await plane.startAgain();
      // Whoever waits between two tries waits for a minute at the most.
      await stage.pass(120_000);
      const done = await plane.until(String(asked['id']), 'ready');
      expect(done['reason']).toBeUndefined();
      await world.until('Connected', 'True', 'ControlPlaneReachable');
      const heard = (await stage.audited('ConditionTransition')).map(({ summary }) => summary.split(' ')[0]);
      expect(heard).toEqual(['Connected', 'Disconnected', 'Connected']);
      const since = stage.events().filter(({ seq }) => seq > told);
      const numbers = since.map(({ sequence }) => Number(sequence.split('.')[1]));
      expect(numbers.length).toBeGreaterThan(2);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      expect(new Set(numbers).size).toBe(numbers.length);
      const { body } = await plane.call('GET', `/clusters/${clusterId}/intents`);
      const states = (body['items'] as { state: string }[]).map(({ state }) => state);
      expect(states).toEqual(['ready', 'ready', 'ready', 'ready']);
    },
  );
});
