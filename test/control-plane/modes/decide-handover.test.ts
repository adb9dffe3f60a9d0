import { afterEach, describe, expect, it } from 'vitest';
import { decideHandover } from '../../../src/control-plane/modes/decide-handover.ts';
import type { IntentRow } from '../../../src/control-plane/store/schema.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { SwitchWorld } from './switch-world.ts';

const AT = '2026-11-28T09:00:00.000Z';

let world: SwitchWorld;

async function handover(to: 'pull' | 'push' | 'gitops'): Promise<{ ids: string[]; left: (string | undefined)[][] }> {
  const { intents, left } = await decideHandover(world.store.db, await world.cluster(), to);
  const ids = intents.map(({ id }) => id);
  return { ids, left: left.map(({ name, reason, intentId }) => [name, reason.split('.')[0], intentId]) };
}

async function condition(kind: string, name: string, set: Record<string, string>): Promise<void> {
  await world.status({ target_kind: kind, namespace: 'shop', name }, { epoch: 1, generation: 1 });
  await world.store.write(async (trx) => {
    await trx.updateTable('resource_conditions').set(set).where('uid', '=', name).execute();
  });
}

describe.each(TEST_DATABASES)('what a switch decides to hand over, on $name', ({ create }) => {
  afterEach(async () => await world[Symbol.asyncDispose]());

  it('leaves what the cluster no longer allows as it is, and says why', async () => {
    const lists = { allowed_catalog_entries: '["podinfo"]', allowed_operation_templates: '["scale"]' };
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull', allowed_namespaces: '["shop"]', ...lists });
    const of = async (name: string, record: object, more: Partial<IntentRow> = {}): Promise<void> =>
      await world.intent({ id: name, name, state: 'ready', applied_at: AT, record: JSON.stringify(record), ...more });
    await of('fine', { catalogEntry: 'podinfo' });
    await of('elsewhere', { catalogEntry: 'podinfo' }, { namespace: 'old' });
    await of('unlisted', { catalogEntry: 'redis' });
    await of('unlabelled', { catalogEntry: 'podinfo' });
    await condition('ApplicationInstance', 'unlabelled', { reason: 'NamespaceNotLabelled', message: 'label it' });
    const operation = { target_kind: 'Operation', action: 'operate', state: 'delivered', applied_at: null } as const;
    await of('scales', { operationTemplate: 'scale' }, operation);
    await of('restarts', { operationTemplate: 'restart' }, operation);
    const { ids, left } = await handover('push');
    expect(ids).toEqual(['fine', 'scales']);
    expect(left).toEqual([
      ['elsewhere', 'namespace old is not allowed on this cluster any more; allowed: shop', undefined],
      ['unlabelled', 'NamespaceNotLabelled: label it', undefined],
      ['unlisted', 'catalog entry redis is not allowed on this cluster any more; allowed: podinfo', undefined],
      ['restarts', 'operation template restart is not allowed on this cluster any more; allowed: scale', 'restarts'],
    ]);
  });

  it('takes the generation that the cluster has applied where it could not apply the newer one', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'gitops' });
    for (const name of ['named', 'other', 'fresh', 'paused']) {
      if (name !== 'fresh') await world.intent({ id: `${name}-1`, name, state: 'ready', applied_at: AT });
      await world.intent({ id: `${name}-2`, name, state: 'delivered', generation: 2, action: 'update' });
    }
    const message =
      'revision abc: 3 of 9 not applied: apps/shop/fresh.yaml: ApplyFailed: denied by a webhook; ' +
      'apps/shop/named.yaml: ApplyFailed: spec.values is invalid (422 Invalid); apps/shop/paused.yaml: Paused: by hand';
    await condition('Cluster', 'eu', { type: 'Synced', status: 'False', message });
    const { ids, left } = await handover('pull');
    expect(ids).toEqual(['named-1', 'other-2', 'paused-2']);
    expect(left).toEqual([
      ['fresh', expect.stringContaining('generation 2 was delivered and the cluster could not apply it'), 'fresh-2'],
      ['named', expect.stringContaining('(ApplyFailed: spec'), 'named-2'],
    ]);
  });

  it('hands over nothing anew that an earlier switch was refused for', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'gitops' });
    await world.intent({ id: 'a-1', name: 'a', state: 'ready', applied_at: AT });
    await world.intent({ id: 'a-2', name: 'a', state: 'delivered', generation: 2, action: 'update' });
    const { id } = await world.begin({ to: 'pull' });
    await world.goOn(id);
    expect((await world.handovers()).map((row) => row.intent_id)).toEqual(['a-2']);
    await world.store.write(async (trx) => {
      await trx.updateTable('mode_handovers').set({ state: 'refused', reason: 'ApplyFailed: invalid' }).execute();
    });
    expect((await handover('pull')).ids).toEqual(['a-1']);
  });

  it('delivers what was passed over anew once the switch is over', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'pull', allowed_namespaces: '["shop"]' });
    await world.intent({ id: 'a-1', name: 'a', state: 'ready' });
    await world.intent({ id: 'b-1', name: 'b', state: 'delivered', namespace: 'old' });
    const { id } = await world.begin({ to: 'gitops', options: { git: { repositoryId: await world.repository('r') } } });
    await world.goOn(id);
    await world.report(2);
    await world.goOn(id);
    await world.deliver();
    await world.confirm();
    expect((await world.goOn(id)).state).toBe('active');
    const states = await world.store.db.selectFrom('intents').select(['id', 'state']).orderBy('id').execute();
    expect(states).toEqual([
      { id: 'a-1', state: 'ready' },
      { id: 'b-1', state: 'accepted' },
    ]);
  });
});

describe.each(TEST_DATABASES)('the way back to push mode, on $name', ({ create }) => {
  afterEach(async () => await world[Symbol.asyncDispose]());

  it('leaves an object that alone cannot be delivered, and ends', async () => {
    world = await SwitchWorld.open(create, { connectivity_mode: 'push' });
    await world.pushCredential('push-1', 'current');
    await world.intent({ id: 'a-1', name: 'a', state: 'ready' });
    await world.intent({ id: 'b-1', name: 'b', state: 'delivered' });
    const { id } = await world.begin({ to: 'pull' });
    await world.goOn(id);
    await world.report(2);
    await world.goOn(id);
    await world.cancel(id);
    await world.goOn(id);
    await world.report(3);
    expect(await world.goOn(id)).toMatchObject({ state: 'rolling-back', phase: 'handing-over' });
    const set = async (intentId: string, state: 'pending' | 'delivered', reason: string | null): Promise<void> =>
      await world.store.write(async (trx) => {
        const rows = trx.updateTable('mode_handovers').set({ state, reason }).where('intent_id', '=', intentId);
        await rows.where('epoch', '=', 3).execute();
      });
    await set('a-1', 'delivered', null);
    const loop = world.loop();
    // Not tried yet: that is waited for.
    await world.inContact(5, loop, id);
    expect((await world.row(id)).state).toBe('rolling-back');
    await set('b-1', 'pending', 'the account has no rights in namespace shop');
    await world.inContact(2, loop, id);
    const row = await world.row(id);
    expect(row).toMatchObject({ state: 'rolled-back', reason: 'cancelled by bert' });
    expect(row.steps).toContain('left as they are: ApplicationInstance shop/b');
    expect(JSON.parse(row.objects_left ?? '[]')).toMatchObject([
      { name: 'b', reason: expect.stringContaining('the account has no rights in namespace shop') },
    ]);
    const intents = world.store.db.selectFrom('intents').select(['state']).orderBy('id');
    expect(await intents.execute()).toEqual([{ state: 'ready' }, { state: 'accepted' }]);
  });
});
