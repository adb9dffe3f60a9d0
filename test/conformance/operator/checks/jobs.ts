import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../../src/resources/kube-object.ts';
import { must } from '../../check.ts';
import { DECISIONS, PAGE, SPEC } from '../../sections.ts';
import { mustEqual, under, type OperatorCheck } from '../operator-check.ts';
import type { OperatorStage } from '../operator-stage.ts';
import { refusal, CLUSTER_ID } from '../scripted-control-plane.ts';
import { applyJob, deleteJob } from '../scripted-jobs.ts';

/** Long enough for a second result to come, if one were to. */
const A_MOMENT_MS = 400;

async function outcome(stage: OperatorStage, ...jobs: readonly Record<string, unknown>[]): Promise<string[]> {
  stage.plane.offer(...jobs);
  return await Promise.all(jobs.map(async ({ id }) => String((await stage.result(String(id)))['outcome'])));
}

/** How jobs are taken, applied and answered. */
export const JOBS: readonly OperatorCheck[] = [
  {
    id: 'jobs.ack-before-apply',
    section: SPEC.rule(1),
    heading: PAGE.ack,
    sentence: 'ack is called before the job is applied',
    run: async (stage) => {
      let wasThere: boolean | undefined;
      const script = async ({ path }: { path: string }): Promise<undefined> => {
        if (!path.endsWith('/first/ack')) return;
        await sleep(A_MOMENT_MS);
        wasThere = (await stage.instance('first')) !== undefined;
      };
      await under(stage, script, async () => {
        mustEqual(await outcome(stage, applyJob('first', 'first', 1)), ['succeeded'], 'outcome');
      });
      mustEqual(wasThere, false, 'whether the object was there while the ack was not answered');
    },
  },
  {
    id: 'jobs.flow',
    section: SPEC.flow,
    heading: PAGE.jobs,
    sentence: 'ack, statuses, one result with appliedRef, in this order; nothing after it',
    run: async (stage) => {
      mustEqual(await outcome(stage, applyJob('flow', 'flow', 1)), ['succeeded'], 'outcome');
      await sleep(A_MOMENT_MS);
      const said = stage.plane.said('flow');
      mustEqual([said[0], said.at(-1)], ['ack', 'result'], 'first and last');
      must(
        said.slice(1, -1).every((what) => what === 'status'),
        `statuses between, not ${said.join()}`,
      );
      const object = await stage.instance('flow');
      const [result] = stage.plane.results('flow');
      const applied = result?.['appliedRef'] as Record<string, unknown> | undefined;
      mustEqual(
        [applied?.['kind'], applied?.['name'], applied?.['uid']],
        ['ApplicationInstance', 'flow', object?.metadata.uid],
        'appliedRef',
      );
      must(Number.isInteger(applied?.['generation']), 'appliedRef.generation');
    },
  },
  {
    id: 'jobs.reconciling-status',
    section: SPEC.flow,
    heading: PAGE.status,
    sentence: 'a status says Reconciling with a condition of that type',
    run: async (stage) => {
      await outcome(stage, applyJob('status', 'status', 1));
      const statuses = stage.plane
        .requests(/\/jobs\/status\/status$/)
        .map(({ body }) => body as { phase: string; conditions?: { type: string; status: string }[] });
      const reconciling = statuses.find(({ phase }) => phase === 'Reconciling');
      must(reconciling !== undefined, `a status with phase Reconciling among ${JSON.stringify(statuses)}`);
      const found = reconciling.conditions?.some(({ type, status }) => type === 'Reconciling' && status === 'True');
      mustEqual(found, true, 'condition Reconciling/True');
    },
  },
  {
    id: 'jobs.labels',
    section: SPEC.flow,
    heading: PAGE.payloads,
    sentence: 'what is applied is labelled managed-by=control-plane and with the cluster-id',
    run: async (stage) => {
      await outcome(stage, applyJob('labels', 'labels', 1));
      const labels = (await stage.instance('labels'))?.metadata.labels;
      mustEqual(labels?.['app.service.io/managed-by'], 'control-plane', 'managed-by');
      mustEqual(labels?.['app.service.io/cluster-id'], CLUSTER_ID, 'cluster-id');
    },
  },
  {
    id: 'jobs.replay',
    section: SPEC.flow,
    heading: PAGE.order,
    sentence: 'a job with a key that was seen ends as noop, and the object stays as it is',
    run: async (stage) => {
      await outcome(stage, applyJob('replay-1', 'replay', 1, { intentId: 'int-replay' }));
      const before = await stage.instance('replay');
      mustEqual(
        await outcome(stage, applyJob('replay-2', 'replay', 1, { intentId: 'int-replay' })),
        ['noop'],
        'outcome',
      );
      const after = await stage.instance('replay');
      mustEqual(after?.metadata.generation, before?.metadata.generation, 'generation of the object');
    },
  },
  {
    id: 'jobs.redelivered',
    section: DECISIONS.jobs,
    heading: PAGE.order,
    sentence: 'the same job delivered again and again has one result',
    run: async (stage) => {
      const job = applyJob('redelivered', 'redelivered', 1);
      await outcome(stage, job);
      for (let times = 0; times < 3; times += 1) {
        stage.plane.offer(job);
        await stage.until(
          'an ack of it',
          () => stage.plane.said('redelivered').filter((what) => what === 'ack').length > times + 1,
          // Polls that bring nothing new come with growing pauses.
          90_000,
        );
      }
      await sleep(A_MOMENT_MS);
      const outcomes = stage.plane.results('redelivered').map((result) => result['outcome']);
      must(
        outcomes.length >= 1 && outcomes.filter((one) => one === 'succeeded').length === 1,
        `one success, not ${outcomes.join()}`,
      );
    },
  },
  {
    id: 'jobs.older-than-the-object',
    section: DECISIONS.jobs,
    heading: PAGE.order,
    sentence: 'an older pair than the object has changes nothing and ends as noop',
    run: async (stage) => {
      await outcome(stage, applyJob('newer', 'ordered', 5));
      mustEqual(await outcome(stage, applyJob('older', 'ordered', 4)), ['noop'], 'outcome');
      const source = (await stage.instance('ordered'))?.metadata.annotations?.['app.service.io/source'];
      mustEqual(source, '1.5', 'pair of the object');
    },
  },
  {
    id: 'jobs.expired',
    section: SPEC.rule(4),
    heading: PAGE.order,
    sentence: 'a job past its expiresAt is not applied: noop with the error expired',
    run: async (stage) => {
      const expiresAt = new Date(Date.now() - 1000).toISOString();
      stage.plane.offer(applyJob('expired', 'expired', 1, { expiresAt }));
      const result = await stage.result('expired');
      mustEqual([result['outcome'], result['error']], ['noop', 'expired'], 'outcome and error');
      mustEqual(await stage.instance('expired'), undefined, 'the object');
    },
  },
  {
    id: 'jobs.unknown-kind',
    section: SPEC.job,
    heading: PAGE.payloads,
    sentence: 'a kind that is not known is refused with an error, and other jobs go on',
    run: async (stage) => {
      const both = [applyJob('unknown-kind', 'x', 1, { kind: 'conjure' }), applyJob('known', 'known', 1)];
      mustEqual(await outcome(stage, ...both), ['failed', 'succeeded'], 'outcomes');
      must(
        String(stage.plane.results('unknown-kind')[0]?.['error']).includes('kind'),
        `an error that names the kind, not ${JSON.stringify(stage.plane.results('unknown-kind'))}`,
      );
    },
  },
  {
    id: 'jobs.unknown-fields',
    section: SPEC.rule(8),
    heading: PAGE.every,
    sentence: 'fields that are not known are passed over',
    run: async (stage) => {
      const later = { later: { deep: [1] }, priority: 'high' };
      mustEqual(await outcome(stage, applyJob('later', 'later', 1, later)), ['succeeded'], 'outcome');
    },
  },
  {
    id: 'jobs.one-that-cannot-be-read',
    section: SPEC.job,
    heading: PAGE.poll,
    sentence: 'a job that cannot be read does not hide the others',
    run: async (stage) => {
      stage.plane.offer({ id: 'broken', kind: 'apply', payload: 'none' }, applyJob('readable', 'readable', 1));
      mustEqual((await stage.result('readable'))['outcome'], 'succeeded', 'outcome of the other');
      stage.plane.script = () => undefined;
    },
  },
  {
    id: 'jobs.namespace',
    section: DECISIONS.jobs,
    heading: PAGE.payloads,
    sentence: 'an object in a namespace that is not allowed is not applied: failed, with an error',
    run: async (stage) => {
      const job = applyJob('elsewhere', 'elsewhere', 1);
      const payload = job['payload'] as { metadata: object };
      const moved = { ...payload, metadata: { ...payload.metadata, namespace: 'kube-system' } };
      mustEqual(await outcome(stage, { ...job, payload: moved }), ['failed'], 'outcome');
      must(String(stage.plane.results('elsewhere')[0]?.['error']) !== '', 'an error');
    },
  },
  {
    id: 'jobs.other-kinds',
    section: DECISIONS.jobs,
    heading: PAGE.payloads,
    sentence: 'anything but ApplicationInstance and Operation is not applied: failed',
    run: async (stage) => {
      const payload = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace: 'shop' } };
      mustEqual(await outcome(stage, applyJob('secret', 'x', 1, { payload })), ['failed'], 'outcome');
    },
  },
  {
    id: 'jobs.delete',
    section: SPEC.result,
    heading: PAGE.result,
    sentence: 'a delete ends as succeeded once the object is gone',
    run: async (stage) => {
      await outcome(stage, applyJob('made', 'deleted', 1));
      mustEqual(await outcome(stage, deleteJob('deleted', 'deleted', 2)), ['succeeded'], 'outcome');
      mustEqual(await stage.instance('deleted'), undefined, 'the object');
    },
  },
  {
    id: 'jobs.conflict',
    section: SPEC.result,
    heading: PAGE.result,
    sentence: 'a field that another manager owns is a conflict, and the error names manager and field',
    run: async (stage) => {
      await outcome(stage, applyJob('before', 'conflict', 1));
      const { apiVersion, kind, metadata, spec } = applyJob('x', 'conflict', 1)['payload'] as KubeObject & {
        readonly spec: { readonly chart: object };
      };
      const theirs = { apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace } };
      const chart = { ...spec.chart, version: '6.5.1' };
      const object = { ...theirs, spec: { chart } } as KubeObject;
      await stage.cluster.api.apply(object, { fieldManager: 'somebody', force: true });
      const job = applyJob('conflict', 'conflict', 2);
      const payload = job['payload'] as { spec: { chart: object } };
      const ours = { ...payload, spec: { ...payload.spec, chart: { ...payload.spec.chart, version: '6.6.1' } } };
      mustEqual(await outcome(stage, { ...job, payload: ours }), ['conflict'], 'outcome');
      const error = String(stage.plane.results('conflict')[0]?.['error']);
      must(error.includes('somebody') && error.includes('version'), `manager and field, not ${error}`);
    },
  },
  {
    id: 'jobs.closed',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: '409 to an ack counts as success, and 404 as nothing to do: the job is left and the next one taken',
    run: async (stage) => {
      const closed = ({ path }: { path: string }): ReturnType<typeof refusal> | undefined => {
        if (path.includes('/gone/')) return refusal(404, 'job_not_found');
        return path.includes('/closed/') ? refusal(409, 'job_closed') : undefined;
      };
      // They are offered once: a control plane that closed a job offers it no more.
      let offers = 0;
      const script = (seen: { path: string; method: string }): ReturnType<typeof refusal> | undefined => {
        if (!seen.path.startsWith('/api/agent/jobs?') || offers > 0) return closed(seen);
        offers += 1;
        const jobs = [applyJob('gone', 'gone', 1), applyJob('closed', 'closed', 1)];
        const headers = {
          'content-type': 'application/vnd.service.agent.v1+json',
          'service-config-revision': String(stage.plane.revision),
        };
        return { status: 200, headers, body: JSON.stringify({ jobs }) };
      };
      await under(stage, script, async () => {
        stage.plane.wake();
        await stage.until(
          'an ack of each',
          () => stage.plane.said('gone').length > 0 && stage.plane.said('closed').length > 0,
        );
        mustEqual(await outcome(stage, applyJob('next', 'next', 1)), ['succeeded'], 'outcome of the next one');
      });
      mustEqual(stage.plane.results('gone'), [], 'results of the job that is gone');
      mustEqual(stage.plane.said('gone'), ['ack'], 'what was said of it');
    },
  },
  {
    id: 'jobs.result-exists',
    section: SPEC.rule(2),
    heading: PAGE.result,
    sentence: '409 to a result counts as success: it is not sent again',
    run: async (stage) => {
      const script = ({ path }: { path: string }) =>
        path.endsWith('/exists/result') ? refusal(409, 'result_exists') : undefined;
      await under(stage, script, async () => {
        await outcome(stage, applyJob('exists', 'exists', 1));
        await sleep(1500);
      });
      mustEqual(stage.plane.results('exists').length, 1, 'results');
    },
  },
];
