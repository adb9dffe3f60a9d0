import { afterEach, describe, expect, it } from 'vitest';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { LATER, READY, REFUSED } from './switch-facts.ts';
import { CLUSTER, switchToPush, SwitchWorld } from './switch-world.ts';

let world: SwitchWorld;
afterEach(async () => await world[Symbol.asyncDispose]());

const { create } = TEST_DATABASES[0] ?? { create: async () => await Promise.reject(new Error('no database')) };

async function toPush(): Promise<string> {
  const begun = await switchToPush(create);
  ({ world } = begun);
  return begun.id;
}

describe('a switch', () => {
  it('changes nothing when the new way fails its probes for good', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const before = await world.cluster();
    const pushCredentialId = await world.pushCredential('push-1', 'candidate');
    const { id } = await world.begin({ to: 'push', pushCredentialId });
    world.probes = REFUSED;
    const row = await world.goOn(id);
    expect(row).toMatchObject({ state: 'rolled-back', reason: 'push mode failed its probes: rights: no patch' });
    expect(JSON.parse(row.probes ?? '')).toEqual(REFUSED.probes);
    expect(await world.cluster()).toEqual(before);
  });

  it('tries probes that may pass again, and gives up after two minutes in which the operator was there', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const { id } = await world.begin({ to: 'push', pushCredentialId: await world.pushCredential('p', 'candidate') });
    world.probes = LATER;
    await world.goOn(id);
    const loop = world.loop();
    await loop.step(id);
    // A day without it counts as nothing, but for the minute before its first call.
    await world.change({ disconnected_at: world.clock.now().toISOString() });
    world.clock.advance(86_400_000);
    await loop.step(id);
    await world.change({ disconnected_at: null });
    await world.contact();
    await loop.step(id);
    expect((await world.row(id)).state).toBe('probing');
    await world.inContact(1, loop, id);
    expect(await world.row(id)).toMatchObject({
      state: 'rolled-back',
      reason: expect.stringContaining('within 2 minutes'),
    });
  });

  it('waits for an operator that is away for a day, and goes on when it is back', async () => {
    const id = await toPush();
    expect((await world.row(id)).state).toBe('fencing');
    await world.change({ disconnected_at: world.clock.now().toISOString() });
    const loop = world.loop();
    for (let hour = 0; hour < 24; hour += 1) {
      world.clock.advance(3_600_000);
      expect(await loop.step(id)).toBe('wait');
    }
    await world.change({ disconnected_at: null });
    await world.report(2);
    expect((await world.goOn(id)).state).toBe('handing-over');
  });

  it('goes back, without waiting for a report, when an operator that is there never reports the epoch', async () => {
    const id = await toPush();
    const loop = world.loop();
    await loop.step(id);
    await world.inContact(10, loop, id);
    expect(await world.row(id)).toMatchObject({ state: 'rolling-back', phase: 'fencing' });
    expect(await world.goOn(id)).toMatchObject({ phase: 'handing-over' });
    await world.deliver();
    expect(await world.goOn(id)).toMatchObject({
      state: 'rolled-back',
      reason: expect.stringContaining('did not report delivery epoch 2'),
    });
  });

  it('closes jobs that do not end within two minutes of the report, and brings their intents by the new way', async () => {
    const id = await toPush();
    await world.job('job-1', 'int-1', 'acknowledged');
    await world.report(2);
    const loop = world.loop();
    expect(await loop.step(id)).toBe('wait');
    await world.inContact(2, loop, id);
    expect((await world.row(id)).state).toBe('handing-over');
    const [job] = await world.store.db.selectFrom('jobs').select(['state', 'outcome']).execute();
    expect(job).toEqual({ state: 'closed', outcome: 'noop' });
  });

  it('goes back when the operator does not report what was brought, and names it', async () => {
    const id = await toPush();
    await world.report(2);
    await world.goOn(id);
    await world.deliver();
    const loop = world.loop();
    await loop.step(id);
    await loop.step(id);
    expect((await world.row(id)).state).toBe('confirming');
    await world.inContact(9, loop, id);
    expect((await world.row(id)).state).toBe('confirming');
    await world.inContact(1, loop, id);
    expect(await world.row(id)).toMatchObject({
      state: 'rolling-back',
      reason: '1 object was not reported by the operator within 10 minutes: ApplicationInstance shop/web',
    });
  });

  it('lets a batch that the control plane itself is pushing end first', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'push' });
    await world.pushCredential('push-1', 'current');
    const { id } = await world.begin({ to: 'pull' });
    await world.goOn(id);
    world.isDelivering = true;
    await world.report(2);
    expect((await world.goOn(id)).state).toBe('fencing');
    world.isDelivering = false;
    expect((await world.goOn(id)).state).toBe('active');
  });

  it('is fenced anew when the epoch is raised by something else', async () => {
    const id = await toPush();
    await world.report(2);
    await world.goOn(id);
    await world.change({ delivery_epoch: 9, reported_epoch: 9 });
    expect(await world.goOn(id)).toMatchObject({ state: 'fencing', epoch: 10 });
    expect(await world.cluster()).toMatchObject({ connectivity_mode: 'push', delivery_epoch: 10, delivery_held: 1 });
    expect((await world.handovers()).map(({ epoch, state }) => [epoch, state])).toEqual([
      [2, 'dropped'],
      [10, 'pending'],
    ]);
    await world.cancel(id);
    await world.goOn(id);
    expect((await world.cluster()).connectivity_mode).toBe('pull');
  });

  it('gives way to another while it goes back, and that one ends the way back when it fails itself', async () => {
    const first = await toPush();
    await world.report(2);
    await world.goOn(first);
    await world.cancel(first);
    await world.goOn(first);
    const repositoryId = await world.repository('fleet');
    const second = await world.begin({ to: 'gitops', options: { git: { repositoryId } } });
    expect(await world.row(first)).toMatchObject({
      state: 'rolled-back',
      reason: expect.stringContaining('cancelled by bert'),
    });
    expect(second).toMatchObject({ state: 'requested', from_mode: 'pull', to_mode: 'gitops', epoch: 3 });
    world.probes = REFUSED;
    // Nothing is delivered until the operator has left push mode, which had brought something.
    expect(await world.goOn(second.id)).toMatchObject({ state: 'rolling-back', phase: 'fencing' });
    expect((await world.cluster()).delivery_held).toBe(1);
    await world.report(3);
    await world.goOn(second.id);
    await world.deliver();
    expect(await world.goOn(second.id)).toMatchObject({
      state: 'rolled-back',
      reason: expect.stringContaining('no patch'),
    });
    expect(await world.cluster()).toMatchObject({ connectivity_mode: 'pull', delivery_held: 0, delivery_epoch: 3 });
  });

  it('gives way to another, which is done', async () => {
    const first = await toPush();
    await world.report(2);
    await world.goOn(first);
    await world.cancel(first);
    await world.goOn(first);
    const { id } = await world.begin({
      to: 'gitops',
      options: { git: { repositoryId: await world.repository('fleet') } },
    });
    world.probes = READY;
    expect((await world.goOn(id)).state).toBe('fencing');
    await world.report(4);
    await world.goOn(id);
    await world.deliver();
    await world.goOn(id);
    await world.confirm();
    expect(await world.goOn(id)).toMatchObject({ state: 'active', epoch: 4 });
    expect((await world.cluster()).connectivity_mode).toBe('gitops');
  });

  it('waits while its cluster is disabled, and is over with a cluster that is deleted', async () => {
    const id = await toPush();
    await world.change({ disabled_at: world.clock.now().toISOString() });
    const loop = world.loop();
    await loop.step(id);
    await world.inContact(1, loop, id);
    expect((await world.row(id)).state).toBe('fencing');
    await world.store.write(async (trx) => {
      for (const table of ['mode_handovers', 'mode_switches', 'push_credentials', 'intents', 'applications'] as const) {
        await trx.deleteFrom(table).where('cluster_id', '=', CLUSTER).execute();
      }
      await trx.deleteFrom('clusters').where('id', '=', CLUSTER).execute();
    });
    expect(await loop.step(id)).toBe('over');
  });
});
