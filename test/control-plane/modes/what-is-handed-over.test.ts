import { afterEach, describe, expect, it } from 'vitest';
import {
  judgeHandover,
  whatIsHandedOver,
  type DecidingIntent,
} from '../../../src/control-plane/modes/what-is-handed-over.ts';
import type { ConnectivityMode } from '../../../src/protocol/connectivity-mode.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { CLUSTER, SwitchWorld } from './switch-world.ts';

const INSTANCE = { target_kind: 'ApplicationInstance', action: 'install' } as const;
const UNINSTALL = { target_kind: 'ApplicationInstance', action: 'uninstall' } as const;
const OPERATION = { target_kind: 'Operation', action: 'operate' } as const;

const TABLE: readonly [what: string, intent: Partial<DecidingIntent>, to: ConnectivityMode, judged: string][] = [
  ['an application that runs', { ...INSTANCE, state: 'ready' }, 'push', 'hand-over'],
  ['one that is on its way', { ...INSTANCE, state: 'delivered' }, 'push', 'hand-over'],
  ['one that was applied', { ...INSTANCE, action: 'update', state: 'applied' }, 'pull', 'hand-over'],
  ['one that failed after it was applied', { ...INSTANCE, state: 'failed' }, 'push', 'hand-over'],
  ['one that is gone', { ...INSTANCE, state: 'removed' }, 'gitops', 'nothing'],
  ['an uninstall under way', { ...UNINSTALL, state: 'delivered' }, 'push', 'hand-over'],
  ['an uninstall that waits', { ...UNINSTALL, state: 'applied' }, 'gitops', 'hand-over'],
  ['an uninstall that is done', { ...UNINSTALL, state: 'removed' }, 'gitops', 'nothing'],
  ['one whose file still stands', { ...UNINSTALL, state: 'removed', hasFile: true }, 'gitops', 'hand-over'],
  ['one whose file nobody reads', { ...UNINSTALL, state: 'removed', hasFile: true }, 'pull', 'nothing'],
  ['an uninstall that failed', { ...UNINSTALL, state: 'failed' }, 'push', 'leave'],
  ['an operation under way', { ...OPERATION, state: 'applied' }, 'push', 'hand-over'],
  ['an operation that has run', { ...OPERATION, state: 'ready' }, 'push', 'nothing'],
  ['an operation that failed', { ...OPERATION, state: 'failed' }, 'push', 'nothing'],
  ['one that somebody unknown made', { ...INSTANCE, state: 'ready', reportedGeneration: 4 }, 'push', 'leave'],
  ['one that was deleted by hand', { ...INSTANCE, state: 'ready', gone: 'deleted' }, 'push', 'leave'],
  [
    'one that was uninstalled by somebody else',
    { ...INSTANCE, state: 'ready', gone: 'uninstalled' },
    'pull',
    'nothing',
  ],
  [
    'an uninstall of what was deleted by hand',
    { ...UNINSTALL, state: 'applied', gone: 'deleted' },
    'pull',
    'hand-over',
  ],
  ['one that was applied, and overtaken by one that failed', { ...INSTANCE, state: 'superseded' }, 'push', 'hand-over'],
  ['one that is newer than that', { ...INSTANCE, state: 'ready', reportedGeneration: 2 }, 'push', 'hand-over'],
];

describe('judgeHandover', () => {
  it.each(TABLE.map(([what, intent, to, judged]) => ({ what, intent, to, judged })))(
    'has $what by $to: $judged',
    ({ intent, to, judged }) => {
      const row: DecidingIntent = {
        ...INSTANCE,
        id: 'int-1',
        namespace: 'shop',
        name: 'web',
        generation: 3,
        state: 'ready',
        reason: null,
        hasFile: false,
        reportedGeneration: null,
        gone: undefined,
        ...intent,
      };
      expect(judgeHandover(row, to).kind).toBe(judged);
    },
  );
});

let world: SwitchWorld;

async function receipt(intentId: string, mode: ConnectivityMode): Promise<void> {
  const row = { intent_id: intentId, mode, commit_id: null, job_id: null, field_manager: null, at: '' };
  await world.store.write(async (trx) => {
    await trx.insertInto('receipts').values(row).execute();
  });
}

describe.each(TEST_DATABASES)('what is handed over, on $name', ({ create }) => {
  afterEach(async () => await world[Symbol.asyncDispose]());

  it('is nothing of an object whose uninstall is accepted, as its delete may be carried out already', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'push' });
    await world.intent({ id: 'a-1', name: 'a', generation: 1, state: 'ready' });
    await world.intent({ id: 'a-2', name: 'a', generation: 2, state: 'accepted', action: 'uninstall' });
    await world.intent({ id: 'b-1', name: 'b', generation: 1, state: 'ready' });
    await world.intent({ id: 'b-2', name: 'b', generation: 2, state: 'superseded', action: 'uninstall' });
    const { intents, left } = await whatIsHandedOver(world.store.db, CLUSTER, 'pull');
    expect([intents.map(({ id }) => id), left]).toEqual([['b-1'], []]);
  });

  it('is of each object the newest intent that came to the cluster', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const at = '2026-11-28T09:00:00.000Z';
    await world.intent({ id: 'a-1', name: 'a', generation: 1, state: 'ready' });
    await world.intent({ id: 'a-2', name: 'a', generation: 2, state: 'failed', applied_at: at, action: 'update' });
    // Refused, superseded before they were applied, proposed, or waiting for their first delivery.
    await world.intent({ id: 'a-3', name: 'a', generation: 3, state: 'failed' });
    await world.intent({ id: 'a-4', name: 'a', generation: 4, state: 'superseded' });
    await world.intent({ id: 'a-5', name: 'a', generation: 5, state: 'proposed' });
    await world.intent({ id: 'a-6', name: 'a', generation: 6, state: 'accepted' });
    await world.intent({ id: 'b-1', name: 'b', generation: 1, state: 'ready' });
    await world.intent({ id: 'b-2', name: 'b', generation: 2, state: 'delivered', action: 'uninstall' });
    await world.intent({ id: 'c-1', name: 'c', generation: 1, state: 'ready' });
    const reason = 'UninstallFailed: the hook failed';
    await world.intent({
      id: 'c-2',
      name: 'c',
      generation: 2,
      state: 'failed',
      action: 'uninstall',
      applied_at: at,
      reason,
    });
    await world.intent({ id: 'd-1', name: 'd', generation: 1, state: 'accepted' });
    // Applied, and delivered anew since its job expired.
    await world.intent({ id: 'f-1', name: 'f', generation: 1, state: 'ready' });
    await world.intent({ id: 'f-2', name: 'f', generation: 2, state: 'accepted', applied_at: at, action: 'update' });
    await world.intent({ id: 'e-1', name: 'e', namespace: 'other', generation: 1, state: 'ready' });
    await world.intent({ id: 'o-1', name: 'a', target_kind: 'Operation', action: 'operate', state: 'delivered' });

    const { intents, left } = await whatIsHandedOver(world.store.db, CLUSTER, 'push');
    expect(intents.map(({ id }) => id)).toEqual(['e-1', 'a-2', 'b-2', 'o-1']);
    expect(left).toEqual([
      {
        kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'c',
        reason: `its uninstall failed (${reason}); ask for it anew`,
      },
    ]);
  });

  it('is never an older generation than the cluster reports, whatever became of its intent', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    const at = '2026-11-28T09:00:00.000Z';
    const told = async (name: string, generation: number, reason = ''): Promise<void> => {
      await world.status({ target_kind: 'ApplicationInstance', namespace: 'shop', name }, { epoch: 1, generation });
      if (reason === '') return;
      await world.store.write(async (trx) => {
        const rows = trx.updateTable('resource_conditions').set({ status: 'False', reason });
        await rows.where('name', '=', name).execute();
      });
    };
    // Applied, overtaken by one that was refused.
    await world.intent({ id: 'a-1', name: 'a', generation: 1, state: 'ready' });
    await world.intent({ id: 'a-2', name: 'a', generation: 2, state: 'superseded', applied_at: at, action: 'update' });
    await world.intent({ id: 'a-3', name: 'a', generation: 3, state: 'failed', action: 'update' });
    // The same, and nobody here heard that it was applied, but for the status.
    await world.intent({ id: 'b-1', name: 'b', generation: 1, state: 'ready' });
    await world.intent({ id: 'b-2', name: 'b', generation: 2, state: 'superseded', action: 'update' });
    await world.intent({ id: 'b-3', name: 'b', generation: 3, state: 'failed', action: 'update' });
    await told('b', 2);
    // Nothing that is known here made what is there.
    await world.intent({ id: 'c-1', name: 'c', generation: 1, state: 'failed' });
    await told('c', 4);
    await told('d', 1);
    // Gone: by hand, and asked for anew since.
    await world.intent({ id: 'e-1', name: 'e', generation: 1, state: 'ready' });
    await told('e', 1, 'Orphaned');
    await world.intent({ id: 'f-1', name: 'f', generation: 1, state: 'superseded', applied_at: at });
    await world.intent({ id: 'f-2', name: 'f', generation: 2, state: 'delivered' });
    await told('f', 1, 'Orphaned');

    const { intents, left } = await whatIsHandedOver(world.store.db, CLUSTER, 'push');
    expect(intents.map(({ id }) => id)).toEqual(['a-2', 'b-2', 'f-2']);
    expect(left.map(({ name, reason }) => [name, reason.split(',')[0]])).toEqual([
      ['c', 'the cluster has generation 4 of it'],
      ['d', 'the cluster has generation 1 of it'],
      ['e', 'it was deleted by hand'],
    ]);
  });

  it('is for Git the tombstone of what has gone since its file was written, whoever wrote that', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
    for (const name of ['a', 'b', 'c', 'd']) {
      await world.intent({ id: `${name}-1`, name, generation: 1, state: 'superseded' });
      await world.intent({ id: `${name}-2`, name, generation: 2, state: 'removed', action: 'uninstall' });
    }
    // Installed by Git and uninstalled by it; uninstalled by pull; handed over to Git, uninstalled by pull; never in Git.
    await receipt('a-1', 'gitops');
    await receipt('a-2', 'gitops');
    await receipt('b-1', 'gitops');
    await receipt('b-2', 'pull');
    await receipt('c-1', 'pull');
    await receipt('c-2', 'pull');
    await receipt('d-2', 'pull');
    const { id } = await world.begin({
      to: 'gitops',
      options: { git: { repositoryId: await world.repository('fleet') } },
    });
    await world.store.write(async (trx) => {
      await trx
        .insertInto('mode_handovers')
        .values({
          switch_id: id,
          cluster_id: CLUSTER,
          epoch: 1,
          intent_id: 'c-1',
          target_kind: 'ApplicationInstance',
          namespace: 'shop',
          name: 'c',
          generation: 1,
          action: 'install',
          state: 'confirmed',
          reason: null,
          receipt: JSON.stringify({ commit: 'abc', revision: 'tree' }),
          delivered_at: null,
          confirmed_at: null,
        })
        .execute();
    });
    const ids = async (to: ConnectivityMode): Promise<string[]> =>
      (await whatIsHandedOver(world.store.db, CLUSTER, to)).intents.map((intent) => intent.id);
    expect(await ids('gitops')).toEqual(['b-2', 'c-2']);
    expect(await ids('pull')).toEqual([]);
  });
});
