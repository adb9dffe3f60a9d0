import { describe, expect, it } from 'vitest';
import { JOURNAL_LOOK_MS } from '../../../src/operator/jobs/watch-journal.ts';
import type { ObjectRef } from '../../../src/resources/kube-object.ts';
import { systemClock, type Clock } from '../../../src/runtime/clock.ts';
import { applyJob, JobStage } from './job-stage.ts';

const SLOT: ObjectRef = {
  apiVersion: 'v1',
  kind: 'Secret',
  namespace: 'service-system',
  name: 'service-operator-job-00',
};

/** Real time, but for the pauses between two looks at the journal: as long as a request may take, so not too short. */
const hurried: Clock = {
  now: () => systemClock.now(),
  sleep: async (ms, signal) => await systemClock.sleep(ms === JOURNAL_LOOK_MS ? 1000 : ms, signal),
};

/** An acknowledged job that waits for its namespace. */
async function waiting(): Promise<JobStage> {
  const stage = await JobStage.start({ withReleases: true, clock: hurried });
  const { plane } = stage;
  plane.configure({ allowed_namespaces: ['shop', 'later'] });
  const idempotencyKey = 'applicationinstance/later/podinfo@1';
  plane.queue.put(applyJob('j1', { namespace: 'later' }, { idempotencyKey }));
  await expect.poll(() => plane.queue.get('j1').statuses.length, { timeout: 10_000 }).toBeGreaterThan(0);
  return stage;
}

async function comes(stage: JobStage): Promise<void> {
  const metadata = { name: 'later', labels: { 'managed-by': 'service' } };
  await stage.world.cluster.api.create({ apiVersion: 'v1', kind: 'Namespace', metadata }, 'test');
  expect(await stage.result('j1')).toBe('succeeded');
  await expect.poll(async () => await stage.journal(), { timeout: 10_000 }).toEqual([]);
}

describe('A1: a journal whose Secrets somebody deletes', () => {
  it('is put back by the running operator, so that the next one knows what was acknowledged', async () => {
    await using stage = await waiting();
    const { api } = stage.world.cluster;
    const before = await stage.world.secret(SLOT.name);
    await api.delete(SLOT);
    await expect
      .poll(async () => (await stage.world.secret(SLOT.name))?.data?.['job'], { timeout: 25_000 })
      .toBe(before?.data?.['job']);
    await stage.stop();
    await stage.begin();
    await comes(stage);
  });

  it.each<[string, Record<string, unknown>]>([
    ['is emptied', { data: null }],
    ['goes with a Cluster resource that is gone', { metadata: { ownerReferences: null } }],
  ])('and one that %s is written whole again', async (_, patch) => {
    await using stage = await waiting();
    const before = await stage.world.secret(SLOT.name);
    await stage.world.cluster.api.mergePatch(SLOT, patch, { fieldManager: 'kubectl-edit' });
    await expect
      .poll(
        async () => {
          const { metadata, data } = (await stage.world.secret(SLOT.name)) ?? {};
          return [metadata?.ownerReferences, data?.['job']];
        },
        { timeout: 25_000 },
      )
      .toEqual([before?.metadata.ownerReferences, before?.data?.['job']]);
    await comes(stage);
  });

  it('is not put back for a job that is over', async () => {
    await using stage = await JobStage.start({ withReleases: true, clock: hurried });
    stage.plane.queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    await expect.poll(async () => await stage.journal(), { timeout: 10_000 }).toEqual([]);
    stage.plane.queue.put(applyJob('j2', { name: 'other' }));
    expect(await stage.result('j2')).toBe('succeeded');
    await expect.poll(async () => await stage.journal(), { timeout: 10_000 }).toEqual([]);
  });
});
