import { describe, expect, it } from 'vitest';
import { EXPIRED_OFFER_MS, keepJobs } from '../../../src/control-plane/jobs/job-upkeep.ts';
import { acknowledgeJob, recordJobResult } from '../../../src/control-plane/jobs/settle-job.ts';
import { endOldWork } from '../../../src/control-plane/modes/fence-old-work.ts';
import { offeredJobs } from '../../../src/control-plane/store/jobs.ts';
import type { JobRow } from '../../../src/control-plane/store/schema.ts';
import { EXPIRED, type JobResult } from '../../../src/protocol/job.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { CLUSTER, HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };

/** An install that is Ready, delivered by Git, whose cluster is brought to pull mode: its job is the second delivery. */
async function broughtToPull(stage: HandoverStage, state: 'ready' | 'delivered' = 'ready'): Promise<string> {
  const id = await stage.accept();
  stage.start();
  await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
  if (state === 'ready') await stage.change('intents', { state, applied_at: 'then', ready_at: 'then' });
  await stage.move('pull');
  await expect.poll(async () => (await stage.handovers())[0]?.state, soon).toBe('delivered');
  return id;
}

async function result(stage: HandoverStage, job: JobRow | undefined, outcome: JobResult): Promise<boolean> {
  const now = stage.clock.now();
  const settled = await stage.store.write(async (trx) => await recordJobResult(trx, job?.id ?? '', outcome, now));
  if (settled.redelivered) stage.wakeups.notify('delivery');
  return settled.intentMoved;
}

describe.each(TEST_DATABASES)('a job that brings an intent once more, on $name', ({ create }) => {
  it('has the key and the generation of the intent and the new epoch, and is offered', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const id = await broughtToPull(stage);
    const [job, ...others] = await stage.jobs();
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      intent_id: id,
      generation: 1,
      delivery_epoch: 2,
      idempotency_key: stage.batches[0]?.[0]?.idempotencyKey,
      state: 'pending',
    });
    const limits = { jobs: 10, bytes: 1_000_000 };
    const offered = await offeredJobs(stage.store.db, { id: CLUSTER, deliveryEpoch: 2 }, limits);
    expect(offered.map((row) => row.id)).toEqual([job?.id]);
  });

  it.each<readonly [string, JobResult]>([
    ['succeeded', { outcome: 'succeeded' }],
    ['a conflict', { outcome: 'conflict', error: 'helm owns spec.values' }],
    ['failed', { outcome: 'failed', error: 'no such namespace' }],
    ['noop', { outcome: 'noop', error: 'already applied at this generation' }],
  ])('leaves an intent that is at its end there when its result is %s', async (_outcome, outcome) => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const id = await broughtToPull(stage);
    const before = await stage.intent(id);
    expect(await result(stage, (await stage.jobs())[0], outcome)).toBe(false);
    expect(await stage.intent(id)).toEqual(before);
  });

  it('is refused for the switch when the cluster refuses it, with the reason', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const id = await broughtToPull(stage);
    await result(stage, (await stage.jobs())[0], { outcome: 'conflict', error: 'helm owns spec.values' });
    const reason = 'ApplyConflict: helm owns spec.values';
    expect(await stage.handovers()).toEqual([{ intent_id: id, state: 'refused', reason }]);
  });

  it('is put anew when it expired before it was applied, and when nobody took it', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const id = await broughtToPull(stage, 'delivered');
    const [first] = await stage.jobs();
    stage.clock.advance(Date.parse(first?.expires_at ?? '') - stage.clock.now().getTime());
    await result(stage, first, { outcome: 'noop', error: EXPIRED });
    await expect.poll(async () => (await stage.jobs()).length, soon).toBe(2);
    expect(await stage.handovers()).toEqual([{ intent_id: id, state: 'delivered', reason: null }]);
    const second = (await stage.jobs()).find(({ state }) => state === 'pending');
    stage.clock.advance(Date.parse(second?.expires_at ?? '') - stage.clock.now().getTime() + EXPIRED_OFFER_MS);
    await keepJobs({ store: stage.store, wakeups: stage.wakeups, clock: stage.clock });
    await expect.poll(async () => (await stage.jobs()).length, soon).toBe(3);
    const open = (await stage.jobs()).filter(({ state }) => state !== 'closed');
    expect(open).toMatchObject([{ intent_id: id, delivery_epoch: 2, state: 'pending' }]);
    expect(await stage.intent(id)).toMatchObject({ state: 'delivered' });
    expect(await stage.receipts()).toMatchObject([{ intent_id: id, mode: 'gitops' }]);
  });

  it('takes the place of the job of the epoch before, which is never offered again', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    const id = await stage.accept();
    stage.start();
    await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
    const [first] = await stage.jobs();
    const at = stage.clock.now().toISOString();
    await stage.store.write(async (trx) => await acknowledgeJob(trx, first?.id ?? '', at));
    await stage.fence('gitops');
    expect(await stage.jobs()).toMatchObject([{ state: 'acknowledged' }]);
    // Gone back before the operator has ended it.
    await stage.move('pull');
    await expect.poll(async () => (await stage.jobs()).length, soon).toBe(2);
    const [old, present] = await stage.jobs();
    const error = 'superseded: the delivery epoch was raised to 3';
    expect(old).toMatchObject({ id: first?.id, state: 'closed', outcome: 'noop', error });
    expect(present).toMatchObject({ intent_id: id, delivery_epoch: 3, state: 'pending' });
  });
});

describe.each(TEST_DATABASES)('the jobs of the way that a cluster leaves, on $name', ({ create }) => {
  it('are closed by the fence unless they were taken, and those that were by the end of their time', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    stage.start();
    const ids = [await stage.accept({ name: 'a' }), await stage.accept({ name: 'b' })];
    await expect.poll(async () => (await stage.jobs()).length, soon).toBe(2);
    const [taken] = (await stage.jobs()).filter(({ name }) => name === 'a');
    const at = stage.clock.now().toISOString();
    await stage.store.write(async (trx) => await acknowledgeJob(trx, taken?.id ?? '', at));
    await stage.fence('gitops');
    const ends = async (): Promise<unknown> =>
      (await stage.jobs()).map(({ name, state, outcome, error }) => ({ name, state, outcome, error }));
    const error = 'superseded: the delivery epoch was raised to 2';
    expect(await ends()).toEqual([
      { name: 'a', state: 'acknowledged', outcome: null, error: null },
      { name: 'b', state: 'closed', outcome: 'noop', error },
    ]);
    await stage.store.write(async (trx) => await endOldWork(trx, { id: CLUSTER }, 2, at));
    expect(await ends()).toMatchObject([{ state: 'closed', error }, { state: 'closed' }]);
    expect((await stage.handovers()).map((row) => row.intent_id).toSorted()).toEqual(ids.toSorted());
  });

  it('settle a removal that they carried out, and nothing else', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    stage.start();
    const kept = await stage.accept({ name: 'a' });
    await stage.accept({ name: 'b' });
    const removal = await stage.accept({ action: 'uninstall', name: 'b' });
    await expect.poll(async () => (await stage.intent(removal)).state, soon).toBe('delivered');
    const at = stage.clock.now().toISOString();
    const open = (await stage.jobs()).filter(({ state }) => state !== 'closed');
    for (const { id } of open) await stage.store.write(async (trx) => await acknowledgeJob(trx, id, at));
    await stage.fence('gitops');
    for (const job of open) await result(stage, job, { outcome: 'succeeded' });
    expect(open).toHaveLength(2);
    expect(await stage.intent(kept)).toMatchObject({ state: 'delivered' });
    expect(await stage.intent(removal)).toMatchObject({ state: 'removed' });
  });

  it('do not settle a removal that was given up because of the new epoch', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    stage.start();
    await stage.accept();
    const removal = await stage.accept({ action: 'uninstall' });
    await expect.poll(async () => (await stage.intent(removal)).state, soon).toBe('delivered');
    const [job] = (await stage.jobs()).filter(({ state }) => state !== 'closed');
    await stage.store.write(async (trx) => await acknowledgeJob(trx, job?.id ?? '', 'now'));
    await stage.fence('gitops');
    await result(stage, job, { outcome: 'noop', error: 'source 1.2 is of delivery epoch 1; the cluster is at 2' });
    expect(await stage.intent(removal)).toMatchObject({ state: 'delivered' });
    expect(await stage.handovers()).toEqual([{ intent_id: removal, state: 'pending', reason: null }]);
  });
});
