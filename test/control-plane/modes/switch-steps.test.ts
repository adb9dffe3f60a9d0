import { afterEach, describe, expect, it } from 'vitest';
import { stepsOf } from '../../../src/control-plane/modes/mode-switch.ts';
import type { ModeSwitchRow } from '../../../src/control-plane/store/schema.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { switchToPush, SwitchWorld } from './switch-world.ts';

let world: SwitchWorld;
afterEach(async () => await world[Symbol.asyncDispose]());

function states(row: ModeSwitchRow): string[] {
  return stepsOf(row).map(({ state }) => state);
}

async function toPush(create: (typeof TEST_DATABASES)[number]['create']): Promise<string> {
  const begun = await switchToPush(create);
  ({ world } = begun);
  return begun.id;
}

describe.each(TEST_DATABASES)('a switch on $name, by a program that is ended after each step', ({ create }) => {
  it('brings a cluster from pull to push', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull', applied_revision: 'old' });
    await world.intent({ id: 'int-1', name: 'web', state: 'ready' });
    await world.intent({ id: 'int-2', name: 'shop', state: 'delivered' });
    await world.job('job-1', 'int-2', 'acknowledged');
    await world.intent({ id: 'int-3', name: 'new', state: 'delivered' });
    await world.job('job-2', 'int-3', 'pending');
    const pushCredentialId = await world.pushCredential('push-1', 'candidate');
    const { id } = await world.begin({ to: 'push', pushCredentialId });

    expect((await world.goOn(id)).state).toBe('fencing');
    expect(await world.cluster()).toMatchObject({
      connectivity_mode: 'push',
      delivery_epoch: 2,
      delivery_held: 1,
      config_revision: 2,
      applied_revision: null,
    });
    const jobs = await world.store.db.selectFrom('jobs').select(['id', 'state', 'outcome']).orderBy('id').execute();
    expect(jobs).toEqual([
      { id: 'job-1', state: 'acknowledged', outcome: null },
      { id: 'job-2', state: 'closed', outcome: 'noop' },
    ]);

    // The operator has left the old way, and has yet to end what it took.
    await world.report(2);
    expect((await world.goOn(id)).state).toBe('fencing');
    expect((await world.cluster()).delivery_held).toBe(1);
    await world.store.write(async (trx) => {
      await trx.updateTable('jobs').set({ state: 'closed', outcome: 'succeeded' }).where('id', '=', 'job-1').execute();
    });
    expect((await world.goOn(id)).state).toBe('handing-over');
    expect((await world.cluster()).delivery_held).toBe(0);
    expect((await world.handovers()).map((row) => [row.intent_id, row.epoch, row.state])).toEqual([
      ['int-1', 2, 'pending'],
      ['int-2', 2, 'pending'],
      ['int-3', 2, 'pending'],
    ]);
    await world.deliver();
    expect((await world.goOn(id)).state).toBe('confirming');
    await world.confirm();
    const row = await world.goOn(id);
    expect(row).toMatchObject({ state: 'active', phase: 'over', reason: null, open_for: null, epoch: 2 });
    expect(states(row)).toEqual(['requested', 'probing', 'fencing', 'handing-over', 'confirming', 'active']);
    expect(new Set((await world.handovers()).map(({ state }) => state))).toEqual(new Set(['confirmed']));
    const audit = await world.store.db.selectFrom('audit').selectAll().where('kind', '=', 'ModeSwitch').execute();
    expect(audit.map(({ source, actor, summary }) => [source, actor, summary.replace(id, 'ID')])).toEqual([
      ['user', 'anna', 'eu: switch ID from pull to push requested'],
      ['user', 'anna', 'switch ID from pull to push done'],
    ]);
    expect(await world.step(id)).toBe('over');
  });

  it('returns it to pull when the new way refuses an object, and says which and why', async () => {
    const id = await toPush(create);
    await world.report(2);
    await world.goOn(id);
    await world.store.write(async (trx) => {
      const reason = 'ApplyConflict: kubectl owns .spec.values';
      await trx.updateTable('mode_handovers').set({ state: 'refused', reason }).execute();
    });
    expect(await world.goOn(id)).toMatchObject({ state: 'rolling-back', phase: 'fencing' });
    expect(await world.cluster()).toMatchObject({ connectivity_mode: 'pull', delivery_epoch: 3, delivery_held: 1 });
    // What the new way brought may still be under way until the operator has left it.
    expect(await world.goOn(id)).toMatchObject({ state: 'rolling-back', phase: 'fencing' });
    await world.report(3);
    expect(await world.goOn(id)).toMatchObject({ state: 'rolling-back', phase: 'handing-over' });
    await world.deliver();
    const row = await world.goOn(id);
    expect(row).toMatchObject({
      state: 'rolled-back',
      reason: 'push mode refused 1 object: ApplicationInstance shop/web: ApplyConflict: kubectl owns .spec.values',
      open_for: null,
    });
    expect(await world.cluster()).toMatchObject({ connectivity_mode: 'pull', delivery_epoch: 3, delivery_held: 0 });
    const [credential] = await world.store.db.selectFrom('push_credentials').selectAll().execute();
    expect(credential).toMatchObject({ state: 'revoked', credential_sealed: null });
  });

  it('takes a cluster to Git and, when it goes back, gives it the settings of before', async () => {
    const own = { repository_id: null, git_directory: null, git_settings: null };
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull', ...own });
    await world.intent({ id: 'int-1', name: 'web', state: 'ready' });
    const repositoryId = await world.repository('fleet');
    const { id } = await world.begin({ to: 'gitops', options: { git: { repositoryId, review: 'proposal' } } });
    await world.goOn(id);
    expect(await world.cluster()).toMatchObject({
      connectivity_mode: 'gitops',
      repository_id: 'fleet',
      git_directory: 'clusters/eu',
      git_settings: '{"review":"proposal"}',
    });
    await world.report(2);
    await world.goOn(id);
    await world.deliver();
    await world.goOn(id);
    // Delivered, and not applied yet.
    expect((await world.goOn(id)).state).toBe('confirming');
    await world.cancel(id);
    await world.goOn(id);
    expect(await world.cluster()).toMatchObject({ connectivity_mode: 'pull', ...own, desired_revision: null });
    await world.report(3);
    await world.goOn(id);
    await world.deliver();
    expect(await world.goOn(id)).toMatchObject({ state: 'rolled-back', reason: 'cancelled by bert' });
  });
});
