import { afterAll, beforeAll, expect, it } from 'vitest';
import { GrantedCluster } from '../support/granted-cluster.ts';
import { OPTIONS_TOLD, playInstanceOptions } from '../support/instance-options-story.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

describeRealCluster('the options of an instance on a real API server', (start) => {
  let world: GrantedCluster;

  beforeAll(async () => {
    // Nobody fills the accounts' tokens without a controller manager.
    world = await GrantedCluster.start(start, { apiServerFlags: ['--disable-admission-plugins=ServiceAccount'] });
    world.startReleaseController();
    await world.join();
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  it('reach Flux, conditions, intents and the channel', { timeout: 240_000 }, async () => {
    const restart = async (): Promise<void> => {
      await world.stopOperator();
      await world.startOperator();
    };
    const { plane, clusterId, admin } = world;
    expect(await playInstanceOptions({ plane, clusterId, api: admin, restart })).toEqual(OPTIONS_TOLD);
  });
});
