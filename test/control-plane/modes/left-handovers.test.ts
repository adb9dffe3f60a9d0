import { describe, expect, it } from 'vitest';
import { recordJobResult } from '../../../src/control-plane/jobs/settle-job.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };

/** A switch of a cluster with one application that runs. */
async function begun(stage: HandoverStage, to: 'pull' | 'gitops'): Promise<string> {
  const id = await stage.accept();
  stage.start();
  await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
  await stage.change('intents', { state: 'ready', applied_at: 'then', ready_at: 'then' });
  await stage.move(to);
  await expect.poll(async () => (await stage.handovers())[0]?.state, soon).not.toBe('pending');
  return id;
}

async function left(stage: HandoverStage): Promise<unknown> {
  const rows = stage.store.db.selectFrom('mode_switches').select('objects_left').orderBy('id', 'desc');
  return JSON.parse((await rows.executeTakeFirstOrThrow()).objects_left ?? '[]');
}

describe.each(TEST_DATABASES)('what a switch finds gone or later in the cluster, on $name', ({ create }) => {
  it('is left where the receipt says that it is not there any more, and its intent stays what it is', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    stage.script = async function* absent(batch) {
      for (const { intent } of batch)
        yield { state: 'delivered', intentId: intent.id, mode: 'push', fieldManager: 'm', isAbsent: true };
    };
    const id = await begun(stage, 'gitops');
    expect(await stage.handovers()).toMatchObject([{ intent_id: id, state: 'dropped' }]);
    expect(await left(stage)).toMatchObject([{ kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo' }]);
    expect(await stage.intent(id)).toMatchObject({ state: 'ready' });
  });

  it('is left where the operator answers that it has, or had, a later generation', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    const id = await begun(stage, 'pull');
    const [job] = await stage.jobs();
    const error = 'source 2.1 is older than 1.2, which is applied';
    const result = { outcome: 'noop', error, source: { epoch: 1, generation: 2 } } as const;
    await stage.store.write(async (trx) => {
      await recordJobResult(trx, job?.id ?? '', result, stage.clock.now());
    });
    expect(await stage.handovers()).toMatchObject([{ intent_id: id, state: 'dropped' }]);
    expect(await left(stage)).toMatchObject([
      { name: 'podinfo', reason: `the cluster has, or had, a later one: ${error}` },
    ]);
  });
});
