import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import type { OperationRun } from '../../../src/reconcile/operation/template-runner.ts';
import { runJobRunner } from '../../../src/reconcile/operation/runners/run-job.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { BEHAVIOUR_ANNOTATION, POD_LOG_ANNOTATION } from '../../../src/sandbox/workload-controller/steering.ts';
import { aRun, wordsOf, type RunOptions, type WorkloadWorld } from './workload-world.ts';

const IMAGE = 'registry.test/tool:1';

/** A try of an operation that is there: a Job without its owner would be collected. */
async function jobRun(world: WorkloadWorld, options: RunOptions): Promise<OperationRun> {
  const run = aRun({ template: 'run-job', ...options });
  return { ...run, operation: await world.order(run.operation) };
}

function jobRef(name: string) {
  return { apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop', name };
}

/** A CronJob in whichever version is served; it runs as an account that is not the namespace's, and tries four times. */
async function makeCronJob(
  { api }: WorkloadWorld,
  name: string,
  annotations: Record<string, string>,
  activeDeadlineSeconds = 120,
): Promise<void> {
  const pod = {
    serviceAccountName: 'cluster-admin-like',
    restartPolicy: 'OnFailure',
    containers: [{ name: 'report', image: 'registry.test/report:1', args: ['--all'] }],
  };
  const template = { metadata: { annotations, labels: { job: 'report' } }, spec: pod };
  const jobTemplate = {
    metadata: { labels: { team: 'a' }, annotations: { note: 'nightly' } },
    spec: { backoffLimit: 4, ttlSecondsAfterFinished: 1, activeDeadlineSeconds, template },
  };
  for (const apiVersion of ['batch/v1', 'batch/v1beta1']) {
    const metadata = { name, namespace: 'shop' };
    const cronJob = {
      apiVersion,
      kind: 'CronJob',
      metadata,
      spec: { schedule: '0 4 * * *', suspend: true, jobTemplate },
    };
    try {
      await api.create(cronJob, 'test');
      return;
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 404) throw error;
    }
  }
}

export function describeJobs(world: () => WorkloadWorld): void {
  describe('a job', () => {
    it('of an image runs once under the account of the namespace, and its output is kept', async () => {
      const parameters = {
        image: IMAGE,
        command: ['echo'],
        args: ['42', 'rows'],
        env: { MODE: 'full' },
        secretEnv: ['db'],
        container: 'tool',
      };
      const annotations = { 'ops.service.io/service-account': 'shop-apps' };
      const run = await jobRun(world(), { name: 'jo-inline', parameters, annotations });
      expect(await world().observe(runJobRunner, run)).toEqual({ state: 'absent' });
      expect(await world().outcome(runJobRunner, run)).toBe('succeeded JobCompleted: Job jo-inline-1 came to its end');
      expect(await world().observe(runJobRunner, run)).toEqual({
        state: 'succeeded',
        reason: 'JobCompleted',
        message: 'Job jo-inline-1 came to its end',
        outputRef: jobRef('jo-inline-1'),
        output: '42 rows\n',
      });
      const job = await world().api.get<KubeObject>(jobRef('jo-inline-1'));
      const { uid } = run.operation.metadata;
      expect(job?.metadata.ownerReferences).toEqual([
        { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', name: 'jo-inline', uid },
      ]);
      expect(job?.metadata.labels).toMatchObject({ 'ops.service.io/operation-uid': uid });
      expect(job?.['spec']).toMatchObject({
        backoffLimit: 0,
        activeDeadlineSeconds: 930,
        template: {
          spec: {
            serviceAccountName: 'shop-apps',
            restartPolicy: 'Never',
            enableServiceLinks: false,
            securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
            containers: [
              {
                name: 'tool',
                image: IMAGE,
                command: ['echo'],
                args: ['42', 'rows'],
                env: [{ name: 'MODE', value: 'full' }],
                envFrom: [{ secretRef: { name: 'db' } }],
                securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              },
            ],
          },
        },
      });
      const { items } = await world().api.list({ apiVersion: 'batch/v1', kind: 'Job' }, { namespace: 'shop' });
      expect(items.filter(({ metadata }) => metadata.name.startsWith('jo-inline'))).toHaveLength(1);
    });

    it('of a CronJob is its job, once, and never under another account', async () => {
      await makeCronJob(world(), 'report', { [POD_LOG_ANNOTATION]: 'done\n' });
      const run = await jobRun(world(), { name: 'jo-cron', parameters: { cronJob: 'report' } });
      expect(await world().outcome(runJobRunner, run)).toBe('succeeded JobCompleted: Job jo-cron-1 came to its end');
      const job = await world().api.get<KubeObject>(jobRef('jo-cron-1'));
      expect(job?.metadata.labels).toMatchObject({
        team: 'a',
        'ops.service.io/operation-uid': run.operation.metadata.uid,
      });
      expect(job?.metadata.annotations).toMatchObject({
        note: 'nightly',
        'cronjob.kubernetes.io/instantiate': 'manual',
      });
      const spec = job?.['spec'] as Record<string, unknown>;
      expect(spec).toMatchObject({
        backoffLimit: 0,
        activeDeadlineSeconds: 120,
        template: {
          metadata: { labels: { job: 'report' } },
          spec: {
            serviceAccountName: 'service-applications',
            restartPolicy: 'Never',
            containers: [{ name: 'report', image: 'registry.test/report:1', args: ['--all'] }],
          },
        },
      });
      expect(spec['ttlSecondsAfterFinished'] ?? null).toBeNull();
      expect(JSON.stringify(spec)).not.toContain('cluster-admin-like');
    });

    it('of a CronJob that is not there says which there are', async () => {
      await makeCronJob(world(), 'tidy', {});
      const run = await jobRun(world(), { name: 'jo-none', parameters: { cronJob: 'tidi' } });
      expect(await world().start(runJobRunner, run)).toMatch(
        /^failed TargetNotFound \(final\): CronJob tidi is not in namespace shop; there: .*tidy/,
      );
    });

    it('that fails says why and what it wrote, and another try is another Job', async () => {
      const parameters = { image: IMAGE, command: ['sh', '-c', 'exit 1'] };
      const said = (attempt: number) =>
        `failed JobFailed: Job jo-fails-${attempt} failed: BackoffLimitExceeded: Job has reached the specified backoff limit`;
      for (const attempt of [1, 2]) {
        expect(
          await world().outcome(runJobRunner, await jobRun(world(), { name: 'jo-fails', parameters, attempt })),
        ).toBe(said(attempt));
      }
      await makeCronJob(world(), 'broken', { [BEHAVIOUR_ANNOTATION]: 'fails', [POD_LOG_ANNOTATION]: 'no database\n' });
      const run = await jobRun(world(), { name: 'jo-broken', parameters: { cronJob: 'broken' } });
      await world().outcome(runJobRunner, run);
      expect(await world().observe(runJobRunner, run)).toMatchObject({ state: 'failed', output: 'no database\n' });
    });

    it('that hangs is stopped with its pod, and stays as it is where it has ended', async () => {
      await makeCronJob(world(), 'hangs', { [BEHAVIOUR_ANNOTATION]: 'hangs', [POD_LOG_ANNOTATION]: 'half way\n' });
      const parameters = { cronJob: 'hangs' };
      const run = await jobRun(world(), { name: 'jo-hangs', parameters });
      expect(await world().start(runJobRunner, run)).toBeUndefined();
      const pods = { apiVersion: 'v1', kind: 'Pod' };
      await world().until(jobRef('jo-hangs-1'), (job) => (job.status as { active?: number } | undefined)?.active === 1);
      expect(wordsOf(await world().observe(runJobRunner, run))).toBe('running: Job jo-hangs-1 runs');
      // Its log on the sandbox; a real server has none of a pod without a node.
      const wrote = world().server.settled === undefined ? undefined : { output: 'half way\n' };
      expect(await world().stop(runJobRunner, run)).toEqual(wrote);
      expect(await world().stop(runJobRunner, run)).toBeUndefined();
      expect(await world().api.get(jobRef('jo-hangs-1'))).toBeUndefined();
      await world().server.settled?.();
      const left = await world().api.list(pods, { namespace: 'shop', labelSelector: 'job-name=jo-hangs-1' });
      if (world().server.settled !== undefined) expect(left.items).toEqual([]);

      const over = await jobRun(world(), { name: 'jo-over', parameters: { image: IMAGE, command: ['true'] } });
      await world().outcome(runJobRunner, over);
      await world().stop(runJobRunner, over);
      expect(await world().api.get(jobRef('jo-over-1'))).toBeDefined();
    });

    it('that takes too long is ended by its own deadline, should nobody else do it', async () => {
      await makeCronJob(world(), 'slow', { [BEHAVIOUR_ANNOTATION]: 'hangs' }, 1);
      const run = await jobRun(world(), { name: 'jo-late', parameters: { cronJob: 'slow' } });
      expect(await world().outcome(runJobRunner, run)).toBe(
        'failed JobFailed: Job jo-late-1 failed: DeadlineExceeded: Job was active longer than specified deadline',
      );
    });

    it('that was seen and then deleted is not made again', async () => {
      const parameters = { image: IMAGE, command: ['sleep', 'infinity'] };
      const outputRef = jobRef('jo-gone-1');
      const run = await jobRun(world(), { name: 'jo-gone', parameters });
      await world().start(runJobRunner, run);
      const seen = { ...run, operation: { ...run.operation, status: { outputRef } } };
      expect((await world().observe(runJobRunner, seen)).state).toBe('running');
      await world().api.delete(jobRef('jo-gone-1'), { propagationPolicy: 'Background' });
      const said =
        'failed ChangeUndone: Job jo-gone-1 was deleted before it came to its end; whether it had its effect is not known';
      expect(wordsOf(await world().observe(runJobRunner, seen))).toBe(said);
      expect(await world().start(runJobRunner, seen)).toBe(said);
      expect(await world().api.get(jobRef('jo-gone-1'))).toBeUndefined();
    });

    it.each([
      ["another's Job of that name", false],
      ['a Job that somebody planted while the operation waited, with its label', true],
    ])('leaves %s alone', async (_what, isLabelled) => {
      const containers = [{ name: 'main', image: IMAGE }];
      const spec = { template: { spec: { restartPolicy: 'Never', containers } } };
      const operation = isLabelled ? 'jo-planted' : 'jo-taken';
      const { apiVersion, kind, name, namespace } = jobRef(`${operation}-1`);
      const run = await jobRun(world(), { name: operation, parameters: { image: IMAGE, command: ['true'] } });
      const labels = isLabelled ? { 'ops.service.io/operation-uid': run.operation.metadata.uid ?? '' } : {};
      await world().api.create({ apiVersion, kind, metadata: { name, namespace, labels }, spec }, 'test');
      const said =
        `failed TargetNotSuited (final): Job ${name} is there already and is not this operation's; ` +
        `delete it (kubectl -n shop delete job ${name}) or give the operation another name`;
      expect(await world().start(runJobRunner, run)).toBe(said);
      expect(wordsOf(await world().observe(runJobRunner, run))).toBe(said);
      await world().stop(runJobRunner, run);
      expect(await world().api.get(jobRef(name))).toBeDefined();
    });

    it('that is begun by two at once is one Job', async () => {
      const run = await jobRun(world(), { name: 'jo-twice', parameters: { image: IMAGE, command: ['true'] } });
      const both = [1, 2, 3, 4].map(async () => await world().start(runJobRunner, run));
      expect(await Promise.all(both)).toEqual([undefined, undefined, undefined, undefined]);
      expect(await world().outcome(runJobRunner, run)).toBe('succeeded JobCompleted: Job jo-twice-1 came to its end');
    });
  });
}
