import { describe, expect, it } from 'vitest';
import { deliverAgain, writtenIntents } from '../../../src/control-plane/store/written-files.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { CLUSTER, HandoverStage } from './handover-stage.ts';

const soon = { timeout: 10_000, interval: 5 };

/** Commit by intent. */
async function inGit(stage: HandoverStage): Promise<Record<string, string>> {
  const written = await writtenIntents(stage.store.db, [CLUSTER], '');
  return Object.fromEntries(written.map(({ id, commit }) => [id, commit]));
}

async function delivered(stage: HandoverStage, id: string): Promise<void> {
  await expect.poll(async () => (await stage.intent(id)).state, soon).toBe('delivered');
}

async function handedOver(stage: HandoverStage): Promise<void> {
  await expect.poll(async () => (await stage.handovers()).every(({ state }) => state === 'delivered'), soon).toBe(true);
}

describe.each(TEST_DATABASES)('what Git must hold of a cluster that was switched, on $name', ({ create }) => {
  it('is what the switch brought there, whatever way the intents came first', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    stage.start();
    const first = await stage.accept({ name: 'a' });
    await delivered(stage, first);
    expect(await inGit(stage)).toEqual({ [first]: `commit of ${first} at 1` });
    await stage.move('pull');
    await handedOver(stage);
    const second = await stage.accept({ name: 'b' });
    await delivered(stage, second);
    await stage.fence('gitops');
    // It may be anything until it is brought: what the earlier stay left is nothing to compare with.
    expect(await inGit(stage)).toEqual({});
    await stage.release();
    await handedOver(stage);
    expect(await inGit(stage)).toEqual({
      [first]: `commit of ${first} at 3`,
      [second]: `commit of ${second} at 3`,
    });
    await stage.move('pull');
    await handedOver(stage);
    await stage.change('intents', { state: 'removed' });
    await stage.move('gitops');
    // Nothing of them was brought this time: what was brought at another time may be of another repository.
    expect(await inGit(stage)).toEqual({});
  });

  it('is what was delivered since, where the repository had lost what the switch brought', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'pull' });
    stage.start();
    const id = await stage.accept();
    await delivered(stage, id);
    await stage.move('gitops');
    await handedOver(stage);
    stage.clock.advance(1000);
    stage.script = async function* again(batch) {
      for (const { intent } of batch) {
        yield { state: 'delivered', intentId: intent.id, mode: 'gitops', commit: 'again', revision: 'tree' };
      }
    };
    const lost = await writtenIntents(stage.store.db, [CLUSTER], '');
    await stage.store.write(async (trx) => await deliverAgain(trx, lost));
    stage.wakeups.notify('delivery');
    await delivered(stage, id);
    expect(await inGit(stage)).toEqual({ [id]: 'again' });
  });

  it('is nothing that an earlier stay left and no switch has brought again', async () => {
    await using stage = await HandoverStage.open(await create(), { connectivity_mode: 'gitops' });
    stage.start();
    const gone = await stage.accept();
    await delivered(stage, gone);
    await stage.change('intents', { state: 'failed', reason: 'Refused: never applied' });
    await stage.move('pull');
    await stage.move('gitops');
    expect(await inGit(stage)).toEqual({});
  });
});
