import { describe, expect, it } from 'vitest';
import { applyJob, deleteJob, JobStage } from './job-stage.ts';

describe('a job in pull mode', () => {
  it('is acknowledged, applied, reported on and answered once its release is ready; an upgrade and an uninstall follow', async () => {
    await using stage = await JobStage.start({ withReleases: true });
    const { queue } = stage.plane;
    queue.put(applyJob('j1'));
    expect(await stage.result('j1')).toBe('succeeded');
    const installed = await stage.instance();
    expect(queue.get('j1').results[0]).toMatchObject({
      appliedRef: {
        apiVersion: 'apps.service.io/v1alpha1',
        kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'podinfo',
        uid: installed?.metadata.uid,
        generation: installed?.metadata.generation,
      },
    });
    expect(installed?.metadata.labels).toMatchObject({ 'app.service.io/managed-by': 'control-plane' });
    expect(queue.said[0]).toBe('ack j1');
    expect(queue.said.at(-1)).toBe('result j1 succeeded');
    expect(queue.said).toContain('status j1 Reconciling');
    expect(queue.get('j1').statuses[0]?.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling' }),
      ]),
    );

    queue.put(applyJob('j2', { source: '1.2', version: '6.6.1', intentId: 'int-2' }));
    expect(await stage.result('j2')).toBe('succeeded');
    queue.put(deleteJob('j3', 3));
    expect(await stage.result('j3')).toBe('succeeded');
    expect(await stage.instance()).toBeUndefined();
    await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
  });
});
