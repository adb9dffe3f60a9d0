import { describe, expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { NAMESPACE } from '../operator/operator-world.ts';
import { AbsenceStage } from './absence-stage.ts';

const APPS = ['podinfo', 'second'];
const CREDENTIALS = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'service-operator-credentials' };

describe.each(['pull', 'gitops'] as const)('A1: silence is not a delete, in %s mode', (mode) => {
  it('an operator that flaps, loses its Secret and registers again deletes nothing', { timeout: 60_000 }, async () => {
    await using stage = await AbsenceStage.start(mode);
    const { plane, world, clusterId } = stage.system;
    for (const name of APPS) await stage.system.bring({ ...INSTALL, name }, 'ready');
    const before = await stage.identities();
    stage.forgetWrites();
    for (let flap = 0; flap < 3; flap += 1) await world.restart(stage.clock);
    await world.until('Connected', 'True', 'ControlPlaneReachable');

    await world.cluster.api.delete({ ...CREDENTIALS, name: 'service-operator-keypair' });
    await world.cluster.api.delete(CREDENTIALS);
    await world.restart(stage.clock);
    // Not by its long-spent token again: the control plane is not even asked.
    await world.until('Authenticated', 'False', 'NotRegistered');
    const issued = await plane.call('POST', `/clusters/${clusterId}/registration-token`);
    await world.setSpec({ registration: { token: issued.body['registrationToken'] } });
    await world.until('Authenticated', 'True', 'Registered');
    expect((await world.read()).status?.clusterId).toBe(clusterId);

    await stage.system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    expect(await stage.identities()).toEqual(before);
    expect(stage.writes(['DELETE', 'POST'])).toEqual([]);
  });

  it(
    'a control plane that lists nothing for a while, cold as it is, deletes nothing',
    { timeout: 60_000 },
    async () => {
      await using stage = await AbsenceStage.start(mode);
      const { plane, world, clusterId } = stage.system;
      for (const name of APPS) await stage.system.bring({ ...INSTALL, name }, 'ready');
      const before = await stage.identities();
      stage.forgetWrites();
      const cold = "allowed_namespaces = '[]', allowed_catalog_entries = '[]', allowed_operation_templates = '[]'";
      await stage.restartWith(cold);
      await expect.poll(async () => (await world.read()).status?.allowedNamespaces, { timeout: 15_000 }).toEqual([]);
      // An operator that starts meanwhile knows nothing else.
      await world.restart(stage.clock);
      await world.until('ControllersHealthy', 'True', 'ControllersRunning');
      await stage.pass(120_000);
      expect(await stage.identities()).toEqual(before);
      expect(stage.writes(['DELETE'])).toEqual([]);

      const lists = { allowedNamespaces: ['shop'], allowedCatalogEntries: ['podinfo'] };
      expect((await plane.call('PATCH', `/clusters/${clusterId}`, lists)).status).toBe(200);
      for (const name of APPS) await stage.untilReady(name);
      await stage.system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
      expect(await stage.identities()).toEqual(before);
      expect(stage.writes(['DELETE', 'POST'])).toEqual([]);
    },
  );
});
