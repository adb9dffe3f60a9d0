import { expect, it } from 'vitest';
import { CLUSTER_ID } from '../fake-control-plane.ts';
import { applyJob, JobStage } from './job-stage.ts';

it('jobs of another record, which the cluster was registered under before, are dropped and not spoken of', async () => {
  await using stage = await JobStage.start();
  const { plane, world } = stage;
  plane.intercept = ({ path }) => path.endsWith('/ack');
  plane.queue.put(applyJob('j1'));
  await expect.poll(async () => (await stage.journal()).length, { timeout: 30_000 }).toBe(1);
  await stage.stop();
  const [name = ''] = await stage.journal();
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace: 'service-system', name };
  const label = 'app.service.io/cluster-id';
  expect((await world.secret(name))?.metadata.labels?.[label]).toBe(CLUSTER_ID);
  await world.cluster.api.mergePatch(ref, { metadata: { labels: { [label]: 'c-ffffffffffffffff' } } });
  plane.intercept = () => false;
  plane.queue.jobs.clear();
  const before = plane.requests.length;
  await stage.begin();
  await expect.poll(async () => await stage.journal(), { timeout: 30_000 }).toEqual([]);
  expect(plane.requests.slice(before).filter(({ path }) => path.includes('/jobs/'))).toEqual([]);
});
