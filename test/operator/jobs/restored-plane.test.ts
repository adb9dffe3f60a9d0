import { expect, it } from 'vitest';
import { anInstance } from '../../reconcile/manifests.ts';
import { applyJob, JobStage } from './job-stage.ts';

it('A2: a control plane that went back to an earlier state is told everything again, and recreates nothing', async () => {
  await using stage = await JobStage.start({ withReleases: true });
  const { plane } = stage;
  plane.configure({ operation_templates: ['scale'] });
  plane.queue.put(applyJob('j1', { source: '1.7' }));
  expect(await stage.result('j1')).toBe('succeeded');
  const uid = (await stage.instance())?.metadata.uid;
  const told = (): readonly string[] =>
    plane.events.flatMap(({ resourceRef, conditions: [condition], source }) =>
      resourceRef.kind === 'ApplicationInstance' && condition?.type === 'Ready' && condition.status === 'True'
        ? [`${source?.epoch}.${source?.generation}`]
        : [],
    );
  await expect.poll(told, { timeout: 30_000 }).toEqual(['1.7']);
  plane.restoreTo({ operation_templates: [] });
  await expect.poll(told, { timeout: 10_000 }).toEqual(['1.7', '1.7']);
  // It numbers from where its backup was; the cluster answers with what it has.
  plane.queue.put(applyJob('j2', { source: '1.3', version: '6.6.1' }));
  expect(await stage.result('j2')).toBe('noop: source 1.3 is older than 1.7, which is applied');
  expect(plane.queue.get('j2').results[0]?.source).toEqual({ epoch: 1, generation: 7 });
  expect((await stage.instance())?.metadata.uid).toBe(uid);
  expect((await stage.instance())?.['spec']).toMatchObject({ chart: anInstance().spec.chart });
});
