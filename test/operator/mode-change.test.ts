import { describe, expect, it } from 'vitest';
import { demoCharts } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { CHART_URL } from '../reconcile/manifests.ts';
import { applyJob, deleteJob } from './jobs/job-stage.ts';
import { ModeStage } from './mode-stage.ts';
import { playReleases } from './play-releases.ts';

const wait = { timeout: 15_000, interval: 10 };

/** Holds each payload write of the operator for a while. Counts them as they come. */
function holdWrites({ jobs }: ModeStage, delayMs: number): { count: number } {
  const seen = { count: 0 };
  jobs.world.cluster.sandbox.faults.add({
    match: ({ method, path, query }) => {
      const isPayload = path.includes('/applicationinstances/') && query.get('fieldManager') === 'service-operator';
      if (method !== 'PATCH' || !isPayload) return false;
      seen.count += 1;
      return true;
    },
    delayMs,
  });
  return seen;
}

describe('a change of the mode or of the delivery epoch', () => {
  it('is told only once a write of the old way that was under way is answered, and at once then', async () => {
    await using stage = await ModeStage.start();
    const { queue } = stage.jobs.plane;
    const held = holdWrites(stage, 1500);
    queue.put(applyJob('j1'));
    await expect.poll(() => held.count, wait).toBe(1);
    await stage.change('push', 2);
    expect(stage.timeline).toEqual(['write podinfo 1.1', 'told 2']);
    expect((await stage.jobs.world.read()).status).toMatchObject({ connectivityMode: 'push', deliveryEpoch: 2 });
  });

  it('leaves a job of before unapplied, and answers it with the epochs', async () => {
    await using stage = await ModeStage.start();
    const { queue } = stage.jobs.plane;
    const held = holdWrites(stage, 1500);
    queue.put(applyJob('j1'));
    await expect.poll(() => held.count, wait).toBe(1);
    queue.put(applyJob('j2', { name: 'late' }), deleteJob('j3', 4));
    await expect.poll(() => queue.get('j3').acks.length, wait).toBe(1);
    await stage.change('gitops', 2);
    expect(await stage.jobs.result('j2')).toBe('noop: source 1.1 is of delivery epoch 1; the cluster is at 2');
    expect(await stage.jobs.result('j3')).toMatch(/^noop: tombstone 1\.4 is of delivery epoch 1; the cluster is at 2/);
    expect(stage.timeline.filter((text) => !text.startsWith('told'))).toEqual(['write podinfo 1.1']);
  });

  const programs: readonly (readonly [string, boolean])[] = [
    ['the same process', false],
    ['the next process', true],
  ];

  it.each(programs)(
    'lets %s bring jobs that are applied to their results, and ask for others only in pull',
    async (_, isRestarted) => {
      await using stage = await ModeStage.start();
      const { queue } = stage.jobs.plane;
      queue.put(applyJob('j1'), applyJob('j2', { name: 'other', intentId: 'int-2' }));
      await expect.poll(() => stage.timeline.length, wait).toBe(2);
      await stage.change('push', 2);
      const polls = queue.waits.length;
      queue.put(applyJob('j4', { name: 'new', source: '3.1', intentId: 'int-4' }));
      if (isRestarted) await stage.jobs.stop();
      await using _releases = playReleases(
        stage.jobs.world,
        demoCharts().map((chart) => ({ ...chart, url: CHART_URL })),
      );
      if (isRestarted) await stage.jobs.begin();
      expect([await stage.jobs.result('j1'), await stage.jobs.result('j2')]).toEqual(['succeeded', 'succeeded']);
      expect([queue.waits.length, queue.get('j4').acks]).toEqual([polls, []]);
      await stage.change('pull', 3);
      await expect.poll(() => stage.timeline.at(-1), wait).toBe('write new 3.1');
    },
  );

  it('says nothing of a source that is not read any more', async () => {
    await using stage = await ModeStage.start({ withReleases: true });
    stage.jobs.plane.queue.put(applyJob('j1'));
    expect(await stage.jobs.result('j1')).toBe('succeeded');
    await stage.jobs.world.until('Synced', 'True', 'Applied');
    await stage.change('push', 2);
    const synced = await stage.jobs.world.until('Synced', 'Unknown', 'NoSourceHere');
    expect(synced.message).toBe('nothing is read from a directory in push mode');
    await stage.change('pull', 3);
    await stage.jobs.world.until('Synced', 'True', 'Applied');
  });
});
