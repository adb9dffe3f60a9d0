import { afterEach, describe, expect, it } from 'vitest';
import { confirmationOf, confirmRows, type BroughtFacts } from '../../../src/control-plane/modes/confirm-rows.ts';
import type { ModeHandoverRow } from '../../../src/control-plane/store/schema.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { CLUSTER, SwitchWorld } from './switch-world.ts';

const INSTALL = {
  epoch: 4,
  generation: 3,
  action: 'install',
  target_kind: 'ApplicationInstance',
  receipt: null,
} as const;
const UNINSTALL = { ...INSTALL, action: 'uninstall' } as const;
const OPERATE = { ...INSTALL, action: 'operate', target_kind: 'Operation' } as const;
const PUSHED = JSON.stringify({ fieldManager: 'service-control-plane' });
const closed = (outcome: 'succeeded' | 'failed' | 'noop') => ({ job: { state: 'closed', outcome } }) as const;

type Brought = Parameters<typeof confirmationOf>[0];

const TABLE: readonly [what: string, row: Brought, facts: Partial<BroughtFacts>, judged: string | undefined][] = [
  ['nothing is known', INSTALL, {}, undefined],
  ['its status is of this epoch', INSTALL, { sources: [{ epoch: 4, generation: 3 }] }, 'confirmed'],
  ['its status is of a newer intent', INSTALL, { sources: [{ epoch: 4, generation: 4 }] }, 'confirmed'],
  ['its status is of an older epoch', INSTALL, { sources: [{ epoch: 3, generation: 3 }] }, undefined],
  ['it has, or had, a later generation', INSTALL, { sources: [{ epoch: 3, generation: 9 }] }, 'left'],
  ['its status is of an older intent', INSTALL, { sources: [{ epoch: 4, generation: 2 }] }, undefined],
  [
    'one condition has moved',
    INSTALL,
    {
      sources: [
        { epoch: 3, generation: 3 },
        { epoch: 4, generation: 3 },
      ],
    },
    'confirmed',
  ],
  ['its status says nothing', INSTALL, { sources: [{}] }, undefined],
  ['its job is done', INSTALL, closed('noop'), 'confirmed'],
  ['its job failed', INSTALL, closed('failed'), undefined],
  ['its job was taken', INSTALL, { job: { state: 'acknowledged', outcome: null } }, undefined],
  ['Git was applied', INSTALL, { isRevisionApplied: true }, undefined],
  ['it is gone', INSTALL, { isGone: true }, 'dropped'],
  ['an uninstall is done', UNINSTALL, { isGone: true }, 'confirmed'],
  ['its job was taken', UNINSTALL, { job: { state: 'acknowledged', outcome: null } }, 'confirmed'],
  ['its job waits', UNINSTALL, { job: { state: 'delivered', outcome: null } }, undefined],
  ['its job failed', UNINSTALL, closed('failed'), undefined],
  ['Git was applied', UNINSTALL, { isRevisionApplied: true }, 'confirmed'],
  ['it was deleted by the control plane', { ...UNINSTALL, receipt: PUSHED }, {}, 'confirmed'],
  ['an install was written by it', { ...INSTALL, receipt: PUSHED }, {}, undefined],
  ['an operation ended meanwhile', OPERATE, { intentState: 'ready' }, 'confirmed'],
  ['an operation failed meanwhile', OPERATE, { intentState: 'failed' }, 'confirmed'],
  ['an operation goes on', OPERATE, { intentState: 'applied' }, undefined],
  ['Git was applied', OPERATE, { isRevisionApplied: true }, 'confirmed'],
];

describe('confirmationOf', () => {
  it.each(TABLE.map(([what, row, facts, judged]) => ({ what, row, facts, judged, action: row.action })))(
    'is $judged for $action when $what',
    ({ row, facts, judged }) => {
      const known = {
        intentState: 'applied',
        isGone: false,
        sources: [],
        job: undefined,
        isRevisionApplied: false,
      } as const;
      expect(confirmationOf(row, { ...known, ...facts })).toBe(judged);
    },
  );
});

let world: SwitchWorld;

async function brought(id: string, name: string, row: Partial<ModeHandoverRow> = {}): Promise<void> {
  const full: ModeHandoverRow = {
    switch_id: 'sw-1',
    cluster_id: CLUSTER,
    epoch: 1,
    intent_id: id,
    target_kind: 'ApplicationInstance',
    namespace: 'shop',
    name,
    generation: 1,
    action: 'install',
    state: 'delivered',
    reason: null,
    receipt: null,
    delivered_at: null,
    confirmed_at: null,
    ...row,
  };
  await world.store.write(async (trx) => {
    await trx.insertInto('mode_handovers').values(full).execute();
  });
}

async function opened(create: (typeof TEST_DATABASES)[number]['create']): Promise<void> {
  world = await SwitchWorld.open(create, { connectivity_mode: 'pull' });
  const { id } = await world.begin({
    to: 'gitops',
    options: { git: { repositoryId: await world.repository('fleet') } },
  });
  await world.store.write(async (trx) => {
    await trx.updateTable('mode_switches').set({ id: 'sw-1' }).where('id', '=', id).execute();
  });
}

async function states(): Promise<Record<string, string>> {
  return Object.fromEntries((await world.handovers()).map((row) => [row.intent_id, row.state]));
}

describe.each(TEST_DATABASES)('confirmRows on $name', ({ create }) => {
  afterEach(async () => await world[Symbol.asyncDispose]());

  it('marks what the cluster has by status, by job and by what has gone', async () => {
    await opened(create);
    await world.intent({ id: 'i-1', name: 'reported', state: 'ready' });
    await world.intent({ id: 'i-2', name: 'silent', state: 'ready' });
    await world.intent({ id: 'i-3', name: 'answered', state: 'applied' });
    await world.intent({ id: 'i-4', name: 'gone', state: 'ready' });
    await world.intent({ id: 'i-5', name: 'gone', generation: 2, action: 'uninstall', state: 'removed' });
    await world.intent({ id: 'i-6', name: 'waiting', state: 'ready' });
    for (const [id, name] of [
      ['i-1', 'reported'],
      ['i-2', 'silent'],
      ['i-3', 'answered'],
      ['i-4', 'gone'],
    ] as const) {
      await brought(id, name);
    }
    await brought('i-6', 'waiting', { state: 'pending' });
    const object = { target_kind: 'ApplicationInstance', namespace: 'shop' };
    await world.status({ ...object, name: 'reported' }, { epoch: 1, generation: 1 });
    await world.status({ ...object, name: 'silent' }, { epoch: 0, generation: 1 });
    await world.status({ ...object, name: 'waiting' }, { epoch: 1, generation: 1 });
    await world.job('job-1', 'i-3', 'acknowledged');
    await world.store.write(async (trx) => {
      await trx.updateTable('jobs').set({ state: 'closed', outcome: 'noop' }).execute();
    });

    expect(await confirmRows(world.store, await world.cluster(), 'now')).toBe(3);
    expect(await states()).toEqual({
      'i-1': 'confirmed',
      'i-2': 'delivered',
      'i-3': 'confirmed',
      'i-4': 'dropped',
      'i-6': 'pending',
    });
    // A second look finds nothing new.
    expect(await confirmRows(world.store, await world.cluster(), 'later')).toBe(0);
  });
});

describe.each(TEST_DATABASES.slice(0, 1))('confirmRows of a thousand objects on $name', ({ create }) => {
  afterEach(async () => await world[Symbol.asyncDispose]());

  it('asks a few times, not once for each', async () => {
    await opened(create);
    await world.intent({ id: 'app', name: 'app', state: 'ready' });
    await brought('app', 'app');
    const { store } = world;
    const intent = await store.db.selectFrom('intents').selectAll().executeTakeFirstOrThrow();
    const row = await store.db.selectFrom('mode_handovers').selectAll().executeTakeFirstOrThrow();
    const names = Array.from({ length: 1000 }, (_, index) => `app-${String(index).padStart(4, '0')}`);
    await store.write(async (trx) => {
      for (const name of names) {
        await trx
          .insertInto('intents')
          .values({ ...intent, id: name, name })
          .execute();
        await trx
          .insertInto('mode_handovers')
          .values({ ...row, intent_id: name, name })
          .execute();
      }
    });
    await world.status({ ...row, name: 'app-0999' }, { epoch: 1, generation: 1 });
    let asked = 0;
    const db = new Proxy(store.db, {
      get: (target, key) => {
        if (key === 'selectFrom') asked += 1;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const counted: Store = Object.create(store, { db: { value: db } }) as Store;
    expect(await confirmRows(counted, await world.cluster(), 'now')).toBe(1);
    expect(asked).toBeLessThan(16);
  });
});
