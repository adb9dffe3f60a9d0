import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { LookingClock } from '../support/looking-clock.ts';
import { WholeSystem } from './whole-system.ts';

describe('an intent on its way to a cluster and back', () => {
  it('is committed, synced, released and reported ready; an upgrade keeps the object; an uninstall removes it', async () => {
    await using system = await WholeSystem.start();
    await system.bring(INSTALL, 'ready');
    const installed = await system.instance('podinfo');
    expect(installed?.metadata.labels).toMatchObject({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': system.clusterId,
    });
    const { status } = await system.world.read();
    await expect
      .poll(async () => (await system.plane.call('GET', `/clusters/${system.clusterId}`)).body['appliedRevision'])
      .toBe(status?.appliedRevision);

    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    expect((await system.instance('podinfo'))?.metadata.uid).toBe(installed?.metadata.uid);
    await system.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
    expect(await system.instance('podinfo')).toBeUndefined();
  });

  it('stays as it is when a file is removed by hand, which is reported, and nonsense beside it is named', async () => {
    await using system = await WholeSystem.start();
    await system.bring(INSTALL, 'ready');
    const before = await system.instance('podinfo');
    system.editByHand((clone) => {
      rmSync(join(clone, 'clusters/eu/apps/shop/podinfo.yaml'));
      writeFileSync(join(clone, 'clusters/eu/apps/shop/nonsense.yaml'), 'kind: [what');
    });
    await system.bring({ ...INSTALL, name: 'second' }, 'ready');

    const removed = await system.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved');
    expect(removed.message).toContain('ApplicationInstance shop/podinfo');
    const synced = await system.world.until('Synced', 'False', 'ManifestInvalid');
    expect(synced.message).toContain('apps/shop/nonsense.yaml');
    const after = await system.instance('podinfo');
    expect({ uid: after?.metadata.uid, deleted: after?.metadata.deletionTimestamp }).toEqual({
      uid: before?.metadata.uid,
      deleted: undefined,
    });
    await expect
      .poll(async () => {
        const { body } = await system.plane.call('GET', `/clusters/${system.clusterId}`);
        const conditions = body['conditions'] as readonly { type: string; status: string }[];
        return conditions.filter(({ type }) => type === 'RemovedWithoutTombstone' || type === 'Synced');
      })
      .toEqual([
        expect.objectContaining({ type: 'RemovedWithoutTombstone', status: 'True' }),
        expect.objectContaining({ type: 'Synced', status: 'False' }),
      ]);
  });

  it('keeps everything and says so, to the operator too, when the whole directory is removed by hand', async () => {
    const clock = new LookingClock();
    await using system = await WholeSystem.start(clock);
    await system.bring(INSTALL, 'ready');
    await system.bring({ ...INSTALL, name: 'second' }, 'ready');
    system.editByHand((clone) => rmSync(join(clone, 'clusters/eu/apps/shop/second.yaml')));
    clock.look();
    const before = await system.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved');
    system.editByHand((clone) => rmSync(join(clone, 'clusters/eu'), { recursive: true }));
    clock.look();
    const synced = await system.world.until('Synced', 'False', 'RemovalsHeld');
    expect(synced.message).toContain('has no manifest any more');
    // What was known of the file that vanished before is not taken back.
    expect(await system.world.until('RemovedWithoutTombstone', 'True', 'FileRemoved')).toEqual(before);
    expect((await system.instance('podinfo'))?.metadata.deletionTimestamp).toBeUndefined();
    expect((await system.instance('second'))?.metadata.deletionTimestamp).toBeUndefined();
  });
});
