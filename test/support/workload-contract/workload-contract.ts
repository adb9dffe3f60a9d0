import { afterAll, beforeAll, describe } from 'vitest';
import { START_TIMEOUT_MS } from '../real-cluster/real-cluster.ts';
import { describeJobs } from './jobs.ts';
import { describeRestarts } from './restarts.ts';
import { describeScaling } from './scaling.ts';
import { WorkloadWorld, type WorkloadServer } from './workload-world.ts';

/** What the runners of workloads and Jobs do on any API server without controllers of its own. */
export function workloadContract(name: string, startServer: () => Promise<WorkloadServer>): void {
  describe(`operations on workloads, on ${name}`, () => {
    let world: WorkloadWorld;

    beforeAll(async () => {
      world = await WorkloadWorld.start(startServer);
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });

    describeRestarts(() => world);
    describeScaling(() => world);
    describeJobs(() => world);
  });
}
