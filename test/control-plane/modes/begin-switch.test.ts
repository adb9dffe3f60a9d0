import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/protocol/app-error.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { REFUSED } from './switch-facts.ts';
import { CLUSTER, SwitchWorld } from './switch-world.ts';

let world: SwitchWorld;

async function refused(act: Promise<unknown>): Promise<Record<string, unknown>> {
  const error: unknown = await act.catch((caught: unknown) => caught);
  if (!(error instanceof AppError)) throw new Error('it was not refused', { cause: error });
  return { code: error.code, message: error.message, ...error.extra };
}

async function openProposal(): Promise<void> {
  await world.intent({ id: 'int-9', name: 'web', state: 'proposed' });
  await world.repository('fleet');
  await world.store.write(async (trx) => {
    await trx
      .insertInto('proposals')
      .values({
        id: 'prop-9',
        organization_id: 'org-1',
        cluster_id: CLUSTER,
        repository_id: 'fleet',
        intent_id: 'int-9',
        state: 'open',
        title: 'install web',
        branch: 'proposals/eu/int-9',
        author: 'anna',
        pins: '[]',
        required_approvals: null,
        revision: 1,
        base_commit: null,
        head_commit: null,
        merged_commit: null,
        host_number: null,
        host_url: null,
        host_revision: null,
        host_checked_at: null,
        host_closed_at: null,
        created_at: '',
        updated_at: '',
        closed_at: null,
        close_reason: null,
        branch_settled_at: null,
      })
      .execute();
  });
}

describe.each(TEST_DATABASES)('a switch that is asked for, on $name', ({ create }) => {
  afterEach(async () => await world[Symbol.asyncDispose]());

  it('is one at a time: the same mode again is the same switch, another one is refused by its id', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const repositoryId = await world.repository('fleet');
    const first = await world.begin({ to: 'push', pushCredentialId: 'push-1' });
    expect(await world.begin({ to: 'push', pushCredentialId: 'push-2' })).toEqual(first);
    const other = world.begin({ to: 'gitops', options: { git: { repositoryId } } });
    expect(await refused(other)).toMatchObject({ code: 'conflict', switchId: first.id });
    expect(await world.store.db.selectFrom('mode_switches').select('id').execute()).toHaveLength(1);
  });

  it('is asked for twice at once: one of them is recorded', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const [one, two] = await Promise.all([world.begin({ to: 'push' }), world.begin({ to: 'push' })]);
    expect(one.id).toBe(two.id);
  });

  it('is refused where it cannot come to anything, saying what to do', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    expect(await refused(world.begin({ to: 'pull' }))).toMatchObject({ message: 'cluster eu is in pull mode already' });
    expect(await refused(world.begin({ to: 'gitops' }))).toMatchObject({
      message: expect.stringContaining('no repository'),
    });
    await world.change({ disabled_at: '2026-11-28T09:00:00.000Z' });
    expect(await refused(world.begin({ to: 'push' }))).toMatchObject({
      message: expect.stringContaining('enable it first'),
    });
    await world.change({ disabled_at: null, status: 'Pending' });
    expect(await refused(world.begin({ to: 'push' }))).toMatchObject({
      message: expect.stringContaining('not registered'),
    });
    expect(await world.store.db.selectFrom('audit').select('id').execute()).toEqual([]);
  });

  it('lists open proposals, and is not done over one that is opened later', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'gitops' });
    await openProposal();
    expect(await refused(world.begin({ to: 'pull' }))).toMatchObject({
      code: 'conflict',
      proposals: [{ id: 'prop-9', title: 'install web' }],
    });
    const { id } = await world.begin({ to: 'pull', options: { closeProposals: true } });
    await world.store.write(async (trx) => {
      await trx.updateTable('mode_switches').set({ options: '{}' }).where('id', '=', id).execute();
    });
    expect(await world.goOn(id)).toMatchObject({ state: 'rolled-back', reason: expect.stringContaining('prop-9') });
    expect((await world.cluster()).delivery_epoch).toBe(1);
  });

  it('is cancelled once, told to the audit, and not at all when it is over', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const pushCredentialId = await world.pushCredential('push-1', 'candidate');
    const { id } = await world.begin({ to: 'push', pushCredentialId });
    await world.cancel(id);
    await world.cancel(id);
    expect(await world.goOn(id)).toMatchObject({
      state: 'rolled-back',
      reason: 'cancelled by bert',
      cancelled_by: 'bert',
    });
    expect(await refused(world.cancel(id))).toMatchObject({ code: 'conflict' });
    expect(await refused(world.cancel('sw-none'))).toMatchObject({ code: 'not_found' });
    const audit = await world.store.db.selectFrom('audit').selectAll().orderBy('id').execute();
    expect(audit.map(({ source, actor, summary }) => `${source} ${actor}: ${summary.replace(id, 'ID')}`)).toEqual([
      'user anna: eu: switch ID from pull to push requested',
      'user bert: switch ID from pull to push cancelled while it was requested',
      'user bert: switch ID from pull to push rolled back',
    ]);
  });

  it('is not asked for again in the mode to which the cluster is going back', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    await world.intent({ id: 'int-1', name: 'web', state: 'ready' });
    const pushCredentialId = await world.pushCredential('push-1', 'candidate');
    const { id } = await world.begin({ to: 'push', pushCredentialId });
    await world.goOn(id);
    await world.report(2);
    await world.goOn(id);
    await world.cancel(id);
    await world.goOn(id);
    const again = await refused(world.begin({ to: 'pull' }));
    expect(again).toMatchObject({ message: 'cluster eu is going back to pull mode already', switchId: id });
    world.probes = REFUSED;
    expect((await world.begin({ to: 'push', pushCredentialId: 'push-2' })).id).not.toBe(id);
  });
});
