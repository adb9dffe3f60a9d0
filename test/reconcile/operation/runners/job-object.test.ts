import { describe, expect, it } from 'vitest';
import {
  inlineJob,
  jobFromCronJob,
  jobName,
  type CronJob,
} from '../../../../src/reconcile/operation/runners/job-object.ts';
import { aRun } from '../../../support/workload-contract/workload-world.ts';

interface JobSpec {
  readonly activeDeadlineSeconds: number;
  readonly template: { readonly metadata: object; readonly spec: Record<string, unknown> };
}

function cronJob(spec: Readonly<Record<string, unknown>>): CronJob {
  const metadata = { name: 'report', namespace: 'shop' };
  return { apiVersion: 'batch/v1', kind: 'CronJob', metadata, spec: { jobTemplate: { spec } } };
}

describe('the Job of an operation', () => {
  it('is named after operation and attempt, with a hash where that is no label', () => {
    expect(jobName(aRun({ name: 'report', attempt: 3 }))).toBe('report-3');
    const long = 'a'.repeat(70);
    const names = [long, `${long}b`, 'a.b', 'a-b'].map((name) => jobName(aRun({ name, attempt: 11 })));
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  });

  it('ends half a minute after its operation should, where nobody has ended it before', () => {
    const run = aRun({ parameters: { image: 'registry.test/tool:1' } });
    const seconds = (before: number) =>
      (inlineJob({ ...run, now: new Date(run.deadline.getTime() - before) })['spec'] as JobSpec).activeDeadlineSeconds;
    expect([900_000, 1500, 1, 0, -5000].map(seconds)).toEqual([930, 32, 31, 30, 30]);
  });

  it('keeps the shorter time of a CronJob, and takes the longer away', () => {
    const seconds = (activeDeadlineSeconds: number) =>
      (jobFromCronJob(aRun(), cronJob({ activeDeadlineSeconds }))['spec'] as JobSpec).activeDeadlineSeconds;
    expect([60, 100_000].map(seconds)).toEqual([60, 930]);
  });

  it('takes nothing of a CronJob that would hide it, hold it back, or lend it another account', () => {
    const pod = {
      serviceAccountName: 'admin',
      serviceAccount: 'admin',
      restartPolicy: 'OnFailure',
      containers: [{ name: 'a', image: 'b' }],
      nodeSelector: { disk: 'ssd' },
    };
    const template = { metadata: { labels: { a: 'b' } }, spec: pod };
    const kept = { parallelism: 2, completions: 2 };
    const dropped = { backoffLimit: 9, ttlSecondsAfterFinished: 0, selector: {}, manualSelector: true, suspend: true };
    const job = jobFromCronJob(aRun(), cronJob({ ...kept, ...dropped, template }));
    expect(job['spec']).toEqual({
      ...kept,
      backoffLimit: 0,
      activeDeadlineSeconds: 930,
      template: {
        metadata: { labels: { a: 'b', 'ops.service.io/operation-uid': 'uid-a' } },
        spec: {
          containers: pod.containers,
          nodeSelector: pod.nodeSelector,
          serviceAccountName: 'service-applications',
          restartPolicy: 'Never',
        },
      },
    });
  });
});
