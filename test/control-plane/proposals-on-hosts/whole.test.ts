import { expect, onTestFinished, test } from 'vitest';
import { demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { OperatorWorld } from '../../operator/operator-world.ts';
import { playReleases } from '../../operator/play-releases.ts';
import { githubShape } from '../../support/git-hosts/github-shape.ts';
import { HostedStage } from './hosted-stage.ts';

test('an intent becomes a pull request, a squash merge on GitHub brings it to the cluster, and it is ready', async () => {
  const stage = await HostedStage.start(githubShape);
  onTestFinished(async () => await stage[Symbol.asyncDispose]());
  const world = await OperatorWorld.start();
  onTestFinished(async () => await world[Symbol.asyncDispose]());
  const releases = playReleases(world, demoCharts());
  onTestFinished(async () => await releases[Symbol.asyncDispose]());
  const { plane, fake, clusterId } = stage;
  const registration = await plane.call('POST', `/clusters/${clusterId}/registration-token`);
  await plane.call('PATCH', `/clusters/${clusterId}`, { intervals: { eventBatchMs: 20 } });
  await world.join(plane.url, String(registration.body['registrationToken']));
  await world.start();
  await world.until('ControllersHealthy', 'True', 'ControllersRunning');

  const instance = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
  };
  const { intentId, hostNumber, state } = await stage.propose();
  expect(state).toBe('open');
  expect(await world.cluster.api.get(instance)).toBeUndefined();

  const commit = await fake.mergeOnHost(hostNumber, 'squash', 'mona');
  expect(await stage.tell(hostNumber, 'merged')).toBe(200);
  const ready = await plane.until(intentId, 'ready');
  expect(ready['receipt']).toMatchObject({ mode: 'gitops', commit });
  expect(await fake.repository.head('main')).toBe(commit);
  expect((await world.cluster.api.get(instance))?.metadata.name).toBe('podinfo');
  expect(await stage.proposalOf(intentId)).toMatchObject({ state: 'merged', mergedCommit: commit, hostNumber });
}, 60_000);
