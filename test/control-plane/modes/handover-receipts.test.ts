import { describe, expect, it } from 'vitest';
import { MODES_TOPIC } from '../../../src/control-plane/topics.ts';
import type { DeliveryItem, Receipt } from '../../../src/delivery/delivery.ts';
import { SUPERSEDED } from '../../../src/delivery/refusal-reasons.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { deliverAll, HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };

describe.each(TEST_DATABASES)('a batch that a fence overtakes, on $name', ({ create }) => {
  const answers: readonly [string, (item: DeliveryItem) => Receipt][] = [
    [
      'delivered',
      ({ intent }) => ({ state: 'delivered', intentId: intent.id, mode: 'gitops', commit: 'c', revision: 't' }),
    ],
    [
      'proposed',
      ({ intent }) => ({ state: 'proposed', intentId: intent.id, branch: 'b', title: 't', head: 'h', pins: [] }),
    ],
    ['moved', ({ intent }) => ({ state: 'moved', intentId: intent.id, message: 'moved' })],
    ['refused', ({ intent }) => ({ state: 'refused', intentId: intent.id, reason: 'PathNotAllowed', message: 'no' })],
  ];

  it.each(answers)('and whose receipt says %s is not stored; its intent goes the new way', async (_state, answer) => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const inFlight = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    stage.script = async function* held(batch) {
      inFlight.resolve();
      await letGo.promise;
      for (const item of batch) yield answer(item);
    };
    const id = await stage.accept();
    stage.start();
    await inFlight.promise;
    await stage.fence('pull');
    letGo.resolve();
    // The batch has ended once its target is free again.
    const before = stage.wakeups.version('delivery');
    await expect.poll(() => stage.wakeups.version('delivery') > before, soon).toBe(true);
    expect(await stage.intent(id)).toMatchObject({ state: 'accepted', delivered_at: null });
    expect(await stage.receipts()).toEqual([]);
    expect(await stage.proposals()).toEqual([]);
    expect(await stage.cluster()).toMatchObject({ desired_revision: null, delivery_epoch: 2 });
    expect(await stage.jobs()).toEqual([]);
    await stage.release();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    expect(await stage.jobs()).toMatchObject([{ intent_id: id, delivery_epoch: 2, state: 'pending' }]);
  });
});

describe.each(TEST_DATABASES)('the receipt of what is handed over, on $name', ({ create }) => {
  it('goes to the switch, and the intent keeps its state and its first receipt', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    await stage.change('intents', { state: 'ready', applied_at: 'then', ready_at: 'then' });
    const [intent, receipts] = [await stage.intent(id), await stage.receipts()];
    const woken = stage.wakeups.version(MODES_TOPIC);
    await stage.move('gitops');
    await expect
      .poll(async () => await stage.handovers(), soon)
      .toEqual([{ intent_id: id, state: 'delivered', reason: null }]);
    expect(stage.batches.map((batch) => batch.map(({ isHandover }) => isHandover))).toEqual([[true]]);
    const row = await stage.store.db.selectFrom('mode_handovers').select('receipt').executeTakeFirstOrThrow();
    expect(JSON.parse(row.receipt ?? '')).toEqual({ commit: `commit of ${id} at 2`, revision: 'tree-2' });
    expect(await stage.intent(id)).toEqual(intent);
    expect(await stage.receipts()).toEqual(receipts);
    expect(await stage.cluster()).toMatchObject({ desired_revision: 'tree-2' });
    await expect.poll(() => stage.wakeups.version(MODES_TOPIC) > woken, soon).toBe(true);
  });

  it('is kept with the reason where it is refused, and the intent is not failed by that', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    stage.script = async function* refuse(batch) {
      for (const { intent } of batch) {
        yield { state: 'refused', intentId: intent.id, reason: SUPERSEDED, message: 'a newer one is there' };
      }
    };
    await stage.move('gitops');
    const refused = { intent_id: id, state: 'refused', reason: 'Superseded: a newer one is there' };
    await expect.poll(async () => await stage.handovers(), soon).toEqual([refused]);
    expect(await stage.intent(id)).toMatchObject({ state: 'delivered', reason: null });
  });

  it.each([
    { was: 'delivered', state: 'failed', reason: 'ApplyConflict: kubectl-edit owns .spec' },
    { was: 'applied', state: 'failed', reason: 'ApplyConflict: kubectl-edit owns .spec' },
    { was: 'ready', state: 'ready', reason: null },
  ])('makes an intent that is $was $state where the way back refuses it', async ({ was, state, reason }) => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    await stage.change('intents', { state: was });
    stage.script = async function* refuse(batch) {
      for (const { intent } of batch) {
        yield { state: 'refused', intentId: intent.id, reason: 'ApplyConflict', message: 'kubectl-edit owns .spec' };
      }
    };
    await stage.fence('gitops');
    await stage.change('mode_switches', { state: 'rolling-back' });
    await stage.release();
    await expect.poll(async () => (await stage.handovers())[0]?.state, soon).toBe('refused');
    expect(await stage.intent(id)).toMatchObject({ state, reason });
  });

  it('says by itself that the object was applied where the API server has taken it', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    stage.script = async function* push(batch) {
      for (const { intent } of batch) {
        yield { state: 'delivered', intentId: intent.id, mode: 'push', fieldManager: 'service-control-plane' };
      }
    };
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    const { applied_at: appliedAt, delivered_at: deliveredAt } = await stage.intent(id);
    expect(appliedAt).toBe(deliveredAt);
    // Refused by what it is handed over to and failed by that, it is still what the way back has to bring again.
    await stage.change('intents', { state: 'failed', reason: 'ApplyConflict: kubectl-edit owns .spec' });
    await stage.fence('pull');
    expect(await stage.handovers()).toEqual([{ intent_id: id, state: 'pending', reason: null }]);
  });

  it('ends nothing for an intent that waits for its own delivery by then: it is that delivery', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    stage.script = async function* meanwhile(batch) {
      await stage.change('intents', { state: 'accepted', delivered_at: null });
      yield* deliverAll(batch);
    };
    await stage.move('gitops');
    await expect.poll(async () => (await stage.handovers())[0]?.state, soon).toBe('delivered');
    expect(await stage.intent(id)).toMatchObject({ state: 'delivered' });
  });

  it('is not waited for where a newer intent of the object was delivered first', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const older = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(older)).state, soon).toBe('delivered');
    stage.script = async function* newerOnly(batch) {
      for (const item of batch) if (item.intent.id !== older) yield* deliverAll([item]);
    };
    await stage.fence('gitops');
    const newer = await stage.accept({ action: 'update', chartVersion: '6.6.0' });
    await stage.release();
    await expect.poll(async () => (await stage.intent(newer)).state, soon).toBe('delivered');
    expect(await stage.handovers()).toEqual([
      { intent_id: older, state: 'dropped', reason: `overtaken by intent ${newer} (generation 2)` },
    ]);
  });
});

describe.each(TEST_DATABASES)('what is handed over, on $name', ({ create }) => {
  it('is rendered as it was, whatever became of its catalog entry', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    const [job] = await stage.jobs();
    await stage.store.write(async (trx) => await trx.deleteFrom('catalog_entries').execute());
    await stage.move('gitops');
    await expect.poll(async () => (await stage.handovers())[0]?.state, soon).toBe('delivered');
    const [item] = stage.batches.flat();
    const before = JSON.parse(job?.payload ?? '') as { spec: unknown; metadata: { annotations: object } };
    expect(item?.kind === 'apply' && item.object['spec']).toEqual(before.spec);
    expect(item?.kind === 'apply' && item.object.metadata.annotations).toEqual({
      ...before.metadata.annotations,
      'app.service.io/source': '2.1',
    });
  });

  it('is never proposed, though the cluster has what is new reviewed', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    await stage.change('clusters', { git_settings: '{"review":"proposal"}' });
    await stage.fence('gitops');
    await stage.accept({ name: 'other' });
    await stage.release();
    await expect.poll(() => stage.batches.flat().length, soon).toBe(2);
    const reviews = stage.batches.flat().map(({ intent, review }) => [intent.name, review?.kind]);
    expect(reviews).toEqual([
      ['podinfo', undefined],
      ['other', 'propose'],
    ]);
  });
});
