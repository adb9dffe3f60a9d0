import { expect, it, vi } from 'vitest';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { instanceRef, releaseRef, sourceRef, WITHIN } from './transport-member.ts';
import type { TransportWorld } from './transport-world.ts';

export function describeRemoving(current: () => TransportWorld): void {
  it('takes the object, its release and its source away by an uninstall, and ends as removed', async () => {
    const { member } = current();
    await member.install('going');
    const intent = await member.bring({ action: 'uninstall', name: 'going' }, 'removed');
    expect(intent['receipt']).toMatchObject({ mode: current().transport.mode });
    for (const ref of [instanceRef('going'), releaseRef('going'), sourceRef('going')]) await member.untilGone(ref);
  });

  it('installs under the same name again, above what was uninstalled', async () => {
    const { member } = current();
    await member.install('again');
    const first = await member.uidOf(instanceRef('again'));
    const gone = await member.bring({ action: 'uninstall', name: 'again' }, 'removed');
    const second = await member.install('again');
    expect(second['generation']).toBeGreaterThan(gone['generation'] as number);
    expect(await member.uidOf(instanceRef('again'))).not.toBe(first);
  });

  it('ends an uninstall as removed when somebody has deleted the object by hand before', async () => {
    const { member } = current();
    await member.install('vanished');
    await member.stopOperator();
    await member.cluster.admin.delete(instanceRef('vanished'));
    const id = await member.accept({ action: 'uninstall', name: 'vanished' });
    await member.startOperator();
    await member.until(id, 'removed');
    await member.untilGone(instanceRef('vanished'));
  });

  it('uninstalls nothing when the object is deleted by hand, and the next intent takes the release up', async () => {
    const { member } = current();
    await member.install('orphan');
    const before = await member.uidOf(instanceRef('orphan'));
    const release = await member.uidOf(releaseRef('orphan'));
    await member.cluster.admin.delete(instanceRef('orphan'));
    await vi.waitFor(async () => expect(await member.uidOf(instanceRef('orphan'))).not.toBe(before), WITHIN);
    await member.bring({ ...INSTALL, action: 'update', name: 'orphan', chartVersion: '6.6.1' }, 'ready');
    expect(await member.uidOf(releaseRef('orphan'))).toBe(release);
    expect(
      member.cluster.operatorGate.writesTo('helmreleases', 'orphan').filter(({ verb }) => verb === 'DELETE'),
    ).toEqual([]);
  });
}
