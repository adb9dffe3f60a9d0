import { expect, it } from 'vitest';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { instanceRef } from './transport-member.ts';
import type { Marks, TransportWorld } from './transport-world.ts';

export function describeRepeating(current: () => TransportWorld): void {
  /** Nothing more was written, said or delivered than what the transport itself makes of a delivery once more. */
  const madeAgain = (before: Marks): Marks => ({
    ...before,
    deliveries: before.deliveries + current().transport.madeAgain,
  });

  it('delivers once what is delivered again because its receipt was lost', async () => {
    const world = current();
    const { member } = world;
    const { id } = await member.install('repeated');
    const version = (await member.read(instanceRef('repeated'))).metadata.resourceVersion;
    const before = await world.marks('repeated');
    await world.loseReceipt(String(id));
    const { receipt } = await member.until(String(id), 'ready');
    expect(receipt).toMatchObject({ mode: world.transport.mode, ...world.transport.receipt });
    expect(await world.marks('repeated')).toEqual(madeAgain(before));
    expect((await member.read(instanceRef('repeated'))).metadata.resourceVersion).toBe(version);
  });

  it('removes once what is removed again because its receipt was lost', async () => {
    const world = current();
    const { member } = world;
    await member.install('removed-once');
    const { id } = await member.bring({ action: 'uninstall', name: 'removed-once' }, 'removed');
    await member.untilGone(instanceRef('removed-once'));
    const before = await world.marks('removed-once');
    await world.loseReceipt(String(id));
    await member.until(String(id), 'removed');
    expect(await world.marks('removed-once')).toEqual(madeAgain(before));
  });

  it('brings nothing back when an install and its uninstall are both delivered again', async () => {
    const world = current();
    const { member } = world;
    const installed = await member.install('stays-gone');
    const { id } = await member.bring({ action: 'uninstall', name: 'stays-gone' }, 'removed');
    await member.untilGone(instanceRef('stays-gone'));
    const before = await world.marks('stays-gone');
    await world.loseReceipt(String(installed['id']), String(id));
    await member.until(String(id), 'removed');
    await member.install('beside');
    expect(await member.uidOf(instanceRef('stays-gone'))).toBeUndefined();
    expect((await world.marks('stays-gone')).writes).toEqual(before.writes);
  });

  it('writes nothing of what stands when the operator or the control plane starts anew', async () => {
    const world = current();
    const { member } = world;
    await member.install('standing');
    const before = await world.marks('standing');
    await member.stopOperator();
    await world.plane.restart();
    await member.startOperator();
    await member.install('after-the-start');
    const { deliveries, ...standing } = await world.marks('standing');
    expect(deliveries).toBe(before.deliveries + 1);
    expect(standing).toEqual({ writes: before.writes, events: before.events });
  });

  it('delivers each of several intents once when both programs restart in the middle', async () => {
    const world = current();
    const { member } = world;
    const before = (await world.marks('none')).deliveries;
    const names = ['mid-a', 'mid-b', 'mid-c', 'mid-d'];
    const ids = await Promise.all(names.map(async (name) => await member.accept({ ...INSTALL, name })));
    await world.plane.restart();
    await member.stopOperator();
    await member.startOperator();
    for (const id of ids) await member.until(id, 'ready');
    expect((await world.marks('none')).deliveries).toBe(before + names.length);
    expect(names.map((name) => world.payloadWrites(name).length)).toEqual([1, 1, 1, 1]);
  });
}
