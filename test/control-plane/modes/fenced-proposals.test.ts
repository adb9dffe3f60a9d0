import { describe, expect, it } from 'vitest';
import type { DeliveryItem, Receipt } from '../../../src/delivery/delivery.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };
const REVIEWED = { connectivity_mode: 'gitops', git_settings: '{"review":"proposal"}' } as const;
const WHY = 'the cluster was moved to pull mode, where nothing is reviewed in Git; ask again for what you want';

/** What is to be reviewed is proposed, and only that. */
async function* propose(batch: readonly DeliveryItem[]): AsyncIterable<Receipt> {
  for (const { intent, review } of batch) {
    if (review?.kind !== 'propose') continue;
    const pins = [{ path: `apps/shop/${intent.name}.yaml`, after: 'a' }];
    yield { state: 'proposed', intentId: intent.id, branch: review.branch, title: 'install', head: 'h', pins };
  }
}

describe.each(TEST_DATABASES)('what waits for a review when its cluster leaves Git, on $name', ({ create }) => {
  it('ends with its proposal, saying why', async () => {
    await using stage = await HandoverStage.open(await create(), REVIEWED);
    stage.script = propose;
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('proposed');
    await stage.move('pull');
    expect(await stage.intent(id)).toMatchObject({ state: 'superseded', reason: `ModeSwitched: ${WHY}` });
    expect(await stage.proposals()).toMatchObject([{ state: 'superseded', close_reason: WHY }]);
    expect(await stage.handovers()).toEqual([]);
  });

  it('ends before it is proposed, too', async () => {
    await using stage = await HandoverStage.open(await create(), REVIEWED);
    const id = await stage.accept();
    await stage.move('pull');
    expect(await stage.intent(id)).toMatchObject({ state: 'superseded', reason: `ModeSwitched: ${WHY}` });
  });

  it('goes on by the new way where it was approved, and is proposed anew when its cluster comes back', async () => {
    await using stage = await HandoverStage.open(await create(), REVIEWED);
    stage.script = propose;
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('proposed');
    await stage.change('proposals', { state: 'merging' });
    await stage.fence('pull');
    expect(await stage.intent(id)).toMatchObject({ state: 'accepted', reason: null });
    expect(await stage.proposals()).toMatchObject([{ state: 'superseded' }]);
    // Back before it was delivered.
    await stage.move('gitops');
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('proposed');
    expect(await stage.proposals()).toMatchObject([{ state: 'open', revision: 2, closed_at: null }]);
    await stage.change('proposals', { state: 'merging' });
    await stage.move('pull');
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    expect(await stage.jobs()).toMatchObject([{ intent_id: id, delivery_epoch: 4 }]);
  });

  it('keeps every intent on the way back, proposed meanwhile or not, for the mode that asked for no review', async () => {
    await using stage = await HandoverStage.open(await create(), { ...REVIEWED, connectivity_mode: 'pull' });
    stage.script = propose;
    stage.start();
    await stage.move('gitops');
    const proposed = await stage.accept({ name: 'one' });
    await expect.poll(async () => (await stage.intent(proposed)).state, soon).toBe('proposed');
    await stage.change('clusters', { delivery_held: 1 });
    const accepted = await stage.accept({ name: 'two' });
    await stage.fenceBack();
    for (const id of [proposed, accepted]) {
      expect(await stage.intent(id)).toMatchObject({ state: 'accepted', reason: null });
    }
    expect(await stage.proposals()).toMatchObject([{ state: 'superseded' }]);
    await stage.release();
    for (const id of [proposed, accepted]) {
      await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    }
    expect((await stage.jobs()).map(({ name }) => name)).toEqual(['one', 'two']);
  });

  it('stands against the switch before it is proposed, and is not ended unless that is asked for', async () => {
    await using stage = await HandoverStage.open(await create(), REVIEWED);
    const id = await stage.accept();
    await expect(stage.begin('pull')).rejects.toMatchObject({ code: 'conflict', extra: { intents: [id] } });
    expect(await stage.intent(id)).toMatchObject({ state: 'accepted', reason: null });
  });

  it('does not end what was delivered once and waits to be delivered anew', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    await stage.change('clusters', { git_settings: REVIEWED.git_settings, delivery_held: 1 });
    await stage.change('intents', { state: 'accepted', delivered_at: null });
    await stage.move('pull');
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
  });
});
