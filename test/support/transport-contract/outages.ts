import { expect, it, vi } from 'vitest';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { instanceRef, releaseRef, WITHIN } from './transport-member.ts';
import type { TransportWorld } from './transport-world.ts';

export function describeOutages(current: () => TransportWorld): void {
  it('goes on reconciling what was delivered while the control plane is away', async () => {
    const { member, plane } = current();
    await member.install('alone');
    const before = await member.uidOf(releaseRef('alone'));
    await plane.stop();
    try {
      await member.cluster.admin.mergePatch(
        releaseRef('alone'),
        { spec: { chartRef: { name: 'somebody-elses' } } },
        { fieldManager: 'eve' },
      );
      await vi.waitFor(async () => {
        const { spec } = await member.read(releaseRef('alone'));
        expect(spec).toMatchObject({ chartRef: { name: 'alone' } });
      }, WITHIN);
    } finally {
      await plane.startAgain();
    }
    expect(await member.uidOf(releaseRef('alone'))).toBe(before);
    await member.bring({ ...INSTALL, action: 'update', name: 'alone', chartVersion: '6.6.1' }, 'ready');
  });

  it('keeps intents for an operator that is away, and they come to their end once it is back', async () => {
    const { member } = current();
    await member.install('leaving');
    await member.stopOperator();
    const ids = [
      await member.accept({ ...INSTALL, name: 'waiting' }),
      await member.accept({ action: 'uninstall', name: 'leaving' }),
    ];
    for (const id of ids) await member.until(id, 'delivered');
    await member.startOperator();
    const [installed = '', removed = ''] = ids;
    await member.until(installed, 'ready');
    await member.until(removed, 'removed');
    await member.untilGone(instanceRef('leaving'));
    expect(current().payloadWrites('waiting')).toHaveLength(1);
  });

  it('loses nothing while the API server is away, and writes it once', async () => {
    const { member } = current();
    const { operatorGate, pushGate } = member.cluster;
    operatorGate.shut();
    pushGate.shut();
    const id = await member.accept({ ...INSTALL, name: 'unreached' });
    await vi.waitFor(() => expect(operatorGate.turnedAway + pushGate.turnedAway).toBeGreaterThan(2), WITHIN);
    expect(['accepted', 'delivered']).toContain((await member.intent(id))['state']);
    operatorGate.open();
    pushGate.open();
    await member.until(id, 'ready');
    expect(current().payloadWrites('unreached')).toHaveLength(1);
  });

  it('serves one cluster as ever while another is down, whose intents wait for it', async () => {
    const { member } = current();
    await using other = await current().joinAnother('us');
    const { operatorGate, pushGate } = other.cluster;
    operatorGate.shut();
    pushGate.shut();
    const waits = await Promise.all(
      ['down-a', 'down-b', 'down-c'].map(async (name) => await other.accept({ ...INSTALL, name })),
    );
    await member.install('up');
    for (const id of waits) expect(['accepted', 'delivered']).toContain((await other.intent(id))['state']);
    operatorGate.open();
    pushGate.open();
    for (const id of waits) await other.until(id, 'ready');
  });
}
