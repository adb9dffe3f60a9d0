import { describe, expect, it } from 'vitest';
import type { DesiredItem } from '../../src/delivery/delivery.ts';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import { DeliveryFence } from '../../src/reconcile/delivery-fence.ts';
import { serialApply } from '../../src/reconcile/serial-apply.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { setApplyStage, type ApplyStage } from './apply-stage.ts';
import { aPolicy, file } from './manifests.ts';
import { logger } from './test-cluster.ts';

const signal = new AbortController().signal;
const MANY = Array.from({ length: 20 }, (_, index) => file({ name: `app-${index}` }));

/** The loop with an API server that holds every apply until it is let go. */
function heldLoop(stage: ApplyStage) {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const epochs: number[] = [];
  const inner = stage.recording.api;
  const fence = new DeliveryFence();
  const loop = createApplyLoop({
    api: {
      ...inner,
      apply: async (...args) => {
        epochs.push(stage.policy.deliveryEpoch);
        reached.resolve();
        await gate.promise;
        return await inner.apply(...args);
      },
    },
    inventory: stage.inventory,
    clock: systemClock,
    logger,
    policy: () => stage.policy,
  });
  return { fence, loop: serialApply(loop, fence), release: () => gate.resolve(), reached: reached.promise, epochs };
}

function aSet(objects: readonly DesiredItem[]) {
  return { revision: 'rev-1', scope: 'complete', objects, removals: [], faults: [] } as const;
}

async function names({ cluster }: ApplyStage): Promise<readonly string[]> {
  const { items } = await cluster.api.list({ apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' });
  return items.map(({ metadata }) => metadata.name);
}

describe('the fence of a switch', () => {
  it('waits for writes that are under way and lets none of the others of the pass start', async () => {
    await using stage = await setApplyStage();
    const { fence, loop, release, reached } = heldLoop(stage);
    const pass = loop.apply(aSet(MANY), signal);
    await reached;
    let isRaised = false;
    const raised = fence.raise(() => {
      isRaised = true;
      stage.policy = aPolicy({ deliveryEpoch: 2, mode: 'pull' });
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([isRaised, await names(stage)]).toEqual([false, []]);
    release();
    await raised;
    const written = await names(stage);
    expect(written).toHaveLength(8);
    const report = await pass;
    expect(report).toMatchObject({ isCut: true, complete: false, retryable: false });
    expect([...report.outcomes.values()].map(({ state }) => state)).toEqual(written.map(() => 'applied'));
    expect(stage.inventory.records()).toHaveLength(8);
  });

  it('ends a pass that waits for its turn without a look, and lets the next one go by what is in force then', async () => {
    await using stage = await setApplyStage();
    const { fence, loop, release, reached, epochs } = heldLoop(stage);
    const first = loop.apply(aSet([file()]), signal);
    await reached;
    const second = loop.apply(aSet(MANY), signal);
    const raised = fence.raise(() => {
      stage.policy = aPolicy({ deliveryEpoch: 2 });
    });
    const third = loop.apply(aSet([file({ name: 'new', source: '2.1' })]), signal);
    release();
    await Promise.all([first, second, raised, third]);
    expect((await second).outcomes.size).toBe(0);
    expect([(await first).isCut, (await second).isCut, (await third).isCut]).toEqual([true, true, undefined]);
    expect([await names(stage), epochs]).toEqual([
      ['new', 'podinfo'],
      [1, 2],
    ]);
  });

  it('is raised at once where nothing is under way, and again while it is being raised', async () => {
    const fence = new DeliveryFence();
    const changes: number[] = [];
    await Promise.all([fence.raise(() => void changes.push(2)), fence.raise(() => void changes.push(3))]);
    expect(changes).toEqual([2, 3]);
    await expect(fence.raise(() => expect.fail('a fault of the change'))).rejects.toThrow('a fault of the change');
    await fence.raise(() => void changes.push(4));
    expect(changes).toEqual([2, 3, 4]);
  });
});
