import { describe, expect, it } from 'vitest';
import type { DeliveryItem, Receipt } from '../../../src/delivery/delivery.ts';
import { approvalsOfIntents } from '../../../src/control-plane/store/approvals.ts';
import type { ApprovalRow } from '../../../src/control-plane/store/schema.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };
const NEEDED = { approval_namespaces: '["shop"]' } as const;
const REVIEWED = { ...NEEDED, connectivity_mode: 'gitops', git_settings: '{"review":"proposal"}' } as const;

async function* propose(batch: readonly DeliveryItem[]): AsyncIterable<Receipt> {
  for (const { intent, review } of batch) {
    if (review?.kind !== 'propose') continue;
    const pins = [{ path: `apps/shop/${intent.name}.yaml`, after: 'a' }];
    yield { state: 'proposed', intentId: intent.id, branch: review.branch, title: 'install', head: 'h', pins };
  }
}

async function approvalOf(stage: HandoverStage, intentId: string): Promise<ApprovalRow | undefined> {
  return (await approvalsOfIntents(stage.store.db, [intentId])).get(intentId);
}

/** The proposal is approved by anna, and is being merged. */
async function merging(stage: HandoverStage): Promise<void> {
  await stage.store.write(async (trx) => {
    const token = { token_hash: 't-anna', organization_id: 'org-1', name: 'anna', roles: '[]', created_at: 'x' };
    await trx
      .insertInto('admin_tokens')
      .values({ ...token, expires_at: null })
      .execute();
    const { id, revision } = await trx.selectFrom('proposals').selectAll().executeTakeFirstOrThrow();
    const review = { id: 'rev-1', kind: 'approve', actor: 'anna', roles: '[]', token_hash: 't-anna', at: 'y' } as const;
    await trx
      .insertInto('proposal_reviews')
      .values({ ...review, proposal_id: id, revision, comment: null, dropped_at: null })
      .execute();
  });
  await stage.change('proposals', { state: 'merging' });
}

describe.each(TEST_DATABASES)('what needs an approval when its cluster is moved, on $name', ({ create }) => {
  it('goes on waiting for it, and nothing of it is brought', async () => {
    await using stage = await HandoverStage.open(await create(), { ...NEEDED, connectivity_mode: 'gitops' });
    const id = await stage.accept();
    stage.start();
    await stage.move('pull');
    await stage.change('clusters', { approval_namespaces: null });
    const other = await stage.accept({ name: 'other' });
    await stage.release();
    await expect.poll(async () => (await stage.intent(other)).state, soon).toBe('delivered');
    expect(await stage.intent(id)).toMatchObject({ state: 'accepted', awaits_approval: 1 });
    expect(await approvalOf(stage, id)).toMatchObject({ state: 'pending' });
    expect((await stage.jobs()).map(({ name }) => name)).toEqual(['other']);
  });

  it('is approved where its proposal was, though it goes by the new way', async () => {
    await using stage = await HandoverStage.open(await create(), REVIEWED);
    stage.script = propose;
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('proposed');
    await merging(stage);
    await stage.move('pull');
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    expect(await approvalOf(stage, id)).toMatchObject({ state: 'approved', via: 'proposal', approved_by: 'anna' });
  });

  it('waits to be approved by the API where its review is gone', async () => {
    await using stage = await HandoverStage.open(await create(), { ...REVIEWED, connectivity_mode: 'pull' });
    stage.script = propose;
    stage.start();
    await stage.move('gitops');
    const id = await stage.accept();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('proposed');
    await stage.fenceBack();
    await stage.release();
    await expect.poll(async () => (await stage.intent(id)).awaits_approval, soon).toBe(1);
    expect(await stage.intent(id)).toMatchObject({
      reason: expect.stringMatching(/^Waiting: approval apr-.* lacks 1/),
    });
    expect(await stage.jobs()).toEqual([]);
    const approval = await approvalOf(stage, id);
    expect(approval).toMatchObject({ state: 'pending' });
  });
});
