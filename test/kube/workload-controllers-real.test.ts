import { afterAll, beforeAll, expect, it } from 'vitest';
import { rolloutRestartRunner } from '../../src/reconcile/operation/runners/rollout-restart.ts';
import { runJobRunner } from '../../src/reconcile/operation/runners/run-job.ts';
import { scaleRunner } from '../../src/reconcile/operation/runners/scale.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';
import { PodPlayer } from '../support/workload-contract/pod-player.ts';
import { aRun, workload, WorkloadWorld } from '../support/workload-contract/workload-world.ts';

describeRealCluster(
  "operations on workloads, with Kubernetes' own controllers",
  (start) => {
    let world: WorkloadWorld;
    let kubelet: PodPlayer;

    beforeAll(async () => {
      world = await WorkloadWorld.start(async () => await start({ controllerManager: true }), 'own');
      kubelet = new PodPlayer(world.api);
      const metadata = { name: 'service-applications', namespace: 'shop' };
      await world.api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata }, 'test');
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await kubelet?.[Symbol.asyncDispose]();
      await world?.[Symbol.asyncDispose]();
    });

    it.each([
      ['Deployment', '2 pods restarted and available', '3 replicas, all ready'],
      ['StatefulSet', '2 pods restarted and ready', '3 replicas, all ready'],
    ] as const)('restart and scale a %s', { timeout: 60_000 }, async (kind, restarted, scaled) => {
      const name = kind.toLowerCase();
      const ref = await world.make(workload(kind, name));
      await world.until(ref, ({ status }) => status?.readyReplicas === 2);
      const pods = async () =>
        (await world.api.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace: 'shop', labelSelector: `app=${name}` }))
          .items;
      const before = (await pods()).map(({ metadata }) => metadata.uid);
      expect(await world.outcome(rolloutRestartRunner, aRun({ parameters: { kind, name } }))).toBe(
        `succeeded WorkloadRestarted: ${kind} ${name}: ${restarted}`,
      );
      const after = (await pods()).map(({ metadata }) => metadata.uid);
      expect(after).toHaveLength(2);
      expect(after.filter((uid) => before.includes(uid))).toEqual([]);
      expect(await world.outcome(scaleRunner, aRun({ parameters: { kind, name, replicas: 3 } }))).toContain(scaled);
      expect(await pods()).toHaveLength(3);
    });

    it('run a Job to its end, see one fail, and stop one with its pod', { timeout: 60_000 }, async () => {
      const ordered = async (name: string, command: readonly string[]) => {
        const run = aRun({ name, parameters: { image: 'registry.test/tool:1', command } });
        return { ...run, operation: await world.order(run.operation) };
      };
      const ends = await ordered('ends', ['echo', 'hello']);
      expect(await world.outcome(runJobRunner, ends)).toBe('succeeded JobCompleted: Job ends-1 came to its end');
      expect(await world.observe(runJobRunner, ends)).toMatchObject({ output: 'echo hello\n' });
      expect(await world.outcome(runJobRunner, await ordered('fails', ['false']))).toMatch(
        /^failed JobFailed: Job fails-1 failed: BackoffLimitExceeded: /,
      );
      const hangs = await ordered('hangs', ['sleep', '1d']);
      await world.start(runJobRunner, hangs);
      const job = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop', name: 'hangs-1' };
      await world.until(job, ({ status }) => (status as { active?: number } | undefined)?.active === 1);
      await world.stop(runJobRunner, hangs);
      const options = { namespace: 'shop', labelSelector: 'job-name=hangs-1' };
      await expect
        .poll(async () => (await world.api.list({ apiVersion: 'v1', kind: 'Pod' }, options)).items, { timeout: 20_000 })
        .toEqual([]);
    });
  },
  { needs: ['controller-manager'] },
);
