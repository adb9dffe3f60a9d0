import { describe, expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { AbsenceStage } from './absence-stage.ts';

const SLOW = { timeout: 15_000, interval: 25 };

describe.each(['pull', 'gitops'] as const)(
  'A2: a control plane that comes back from an older backup, in %s mode',
  (mode) => {
    it('recreates nothing, shows the difference, and numbers go on', { timeout: 60_000 }, async () => {
      await using stage = await AbsenceStage.start(mode);
      const { system } = stage;
      const { plane } = system;
      for (const name of ['podinfo', 'second', 'third']) await system.bring({ ...INSTALL, name }, 'ready');
      // It is a post of events that shows the operator what was forgotten: at the latest the next heartbeat.
      await plane.call('PATCH', `/clusters/${system.clusterId}`, { intervals: { heartbeatSeconds: 1 } });
      const restore = await stage.backUp();

      // What the backup does not hold: two updates, and an application.
      await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.0' }, 'ready');
      await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
      await system.bring({ ...INSTALL, name: 'later' }, 'ready');
      const before = await stage.identities();
      expect(Object.keys(before)).toHaveLength(12);
      await plane.stop();
      restore();
      stage.forgetWrites();
      await plane.startAgain();

      // The difference is shown without anybody asking for anything.
      await expect
        .poll(async () => (await stage.audited('ClusterAhead')).map(({ summary }) => summary.slice(0, 60)).sort(), SLOW)
        .toEqual([
          expect.stringContaining('has generation 1 of ApplicationInstance shop/later'),
          expect.stringContaining('has generation 3 of ApplicationInstance shop/podinfo'),
        ]);
      expect(stage.writes()).toEqual([]);
      expect(await stage.identities()).toEqual(before);

      // What is asked for now counts on, and is done.
      const update = { ...INSTALL, action: 'update', chartVersion: '6.6.2' };
      const accepted = await plane.call('POST', `/clusters/${system.clusterId}/intents`, update);
      const done = await plane.until(String(accepted.body['id']), 'ready');
      expect(done['generation']).toBe(4);
      expect((await system.instance('podinfo'))?.['spec']).toMatchObject({ chart: { version: '6.6.2' } });
      expect(await stage.identities()).toEqual(before);
      expect(stage.writes(['DELETE', 'POST'])).toEqual([]);
    });

    it('lets in an operator that rotated since, by its key and without an admin', { timeout: 60_000 }, async () => {
      await using stage = await AbsenceStage.start(mode);
      const { system } = stage;
      const { plane, world } = system;
      await system.bring(INSTALL, 'ready');
      const restore = await stage.backUp();
      expect((await plane.call('POST', `/clusters/${system.clusterId}/rotate`)).status).toBe(200);
      await world.until('Authenticated', 'True', 'CredentialRotated');
      const before = await stage.identities();
      await plane.stop();
      restore();
      stage.forgetWrites();
      await plane.startAgain();
      await world.until('Authenticated', 'True', 'CredentialRecovered');
      await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
      expect(await stage.identities()).toEqual(before);
      expect(stage.writes(['DELETE', 'POST'])).toEqual([]);
      expect(await stage.audited('RegistrationTokenIssued')).toHaveLength(0);
    });
  },
);
