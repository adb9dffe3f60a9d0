import { describe, expect, it } from 'vitest';
import { agentRequest, crashAndRestart, kubeRequest, type CrashPoint } from './crash.ts';
import { applyJob, deleteJob, JobStage } from './job-stage.ts';

const SLOT = '/secrets/service-operator-job-00';
const INSTANCE = '/applicationinstances/podinfo';

/** Between any two steps of a job: poll, journal, ack, apply, journal, status, result, out of the journal. */
const POINTS: readonly [string, CrashPoint][] = [
  ['before the journal is written', { at: 'cluster', when: 'before', match: kubeRequest('PATCH', SLOT) }],
  ['after the journal is written', { at: 'cluster', when: 'after', match: kubeRequest('PATCH', SLOT) }],
  ['before the ack arrives', { at: 'control plane', when: 'before', match: agentRequest('/j1/ack') }],
  ['after the ack has arrived', { at: 'control plane', when: 'after', match: agentRequest('/j1/ack') }],
  ['before the job is applied', { at: 'cluster', when: 'before', match: kubeRequest('PATCH', INSTANCE) }],
  ['after the job is applied', { at: 'cluster', when: 'after', match: kubeRequest('PATCH', INSTANCE) }],
  ['before a status arrives', { at: 'control plane', when: 'before', match: agentRequest('/j1/status') }],
  ['after a status has arrived', { at: 'control plane', when: 'after', match: agentRequest('/j1/status') }],
  ['before the result arrives', { at: 'control plane', when: 'before', match: agentRequest('/j1/result') }],
  ['after the result has arrived', { at: 'control plane', when: 'after', match: agentRequest('/j1/result') }],
  ['before it leaves the journal', { at: 'cluster', when: 'before', match: kubeRequest('DELETE', SLOT) }],
  ['after it has left the journal', { at: 'cluster', when: 'after', match: kubeRequest('DELETE', SLOT) }],
];

describe('A10: an operator that crashes during a job', () => {
  it.each(POINTS)('%s: has one effect and one result', async (_, point) => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    await crashAndRestart(stage, point, () => queue.put(applyJob('j1')));
    expect(await stage.result('j1')).toBe('succeeded');
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    expect(queue.outcomes('j1')).toEqual(['succeeded']);
    expect((await stage.instance())?.metadata.generation).toBe(1);
  });

  it.each<[string, CrashPoint]>([
    ['before the object is deleted', { at: 'cluster', when: 'before', match: kubeRequest('DELETE', INSTANCE) }],
    ['after the object is deleted', { at: 'cluster', when: 'after', match: kubeRequest('DELETE', INSTANCE) }],
    ['before the result arrives', { at: 'control plane', when: 'before', match: agentRequest('/j2/result') }],
  ])('%s by a delete: has one effect and one result', async (_, point) => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    await crashAndRestart(stage, point, () => queue.put(deleteJob('j2', 2)));
    expect(await stage.result('j2')).toBe('succeeded');
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
    expect(await stage.instance()).toBeUndefined();
  });
});

describe('A10: a job that is delivered again', () => {
  it('under the same id, five times: has one effect, one result, and nothing is said twice but the ack', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { plane } = stage;
    let offers = 0;
    plane.intercept = (request, response) => {
      if (!request.path.startsWith('/api/agent/jobs?') || offers >= 5) return false;
      offers += 1;
      plane.answer(response, 200, { jobs: [applyJob('j1')] });
      return true;
    };
    plane.queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    await expect.poll(() => offers, { timeout: 15_000 }).toBe(5);
    plane.queue.put(applyJob('j2', { name: 'other' }));
    expect(await stage.result('j2')).toBe('succeeded');
    expect(plane.queue.outcomes('j1')).toEqual(['succeeded']);
    expect((await stage.instance())?.metadata.generation).toBe(1);
  });

  it('under another id and the same key: is a noop', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    queue.put(applyJob('j2'));
    expect(await stage.result('j2')).toBe('noop: already applied at this generation');
  });

  it('after a newer one of the same object: is a noop that names the newer pair', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j1', { source: '1.4' }));
    expect(await stage.result('j1')).toBe('succeeded');
    queue.put(applyJob('j2', { source: '1.2', version: '6.6.0' }));
    expect(await stage.result('j2')).toBe('noop: source 1.2 is older than 1.4, which is applied');
    expect(queue.get('j2').results[0]?.source).toEqual({ epoch: 1, generation: 4 });
  });
});
