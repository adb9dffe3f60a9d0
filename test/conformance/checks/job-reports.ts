import { isObject, must, mustBe, mustRefuse, type Check } from '../check.ts';
import type { ClusterClient } from '../cluster-client.ts';
import type { Answer } from '../http-client.ts';
import { nextJob } from '../next-job.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';
import type { Stage } from '../stage.ts';

const MIB = 1_048_576;
const SUCCEEDED = { outcome: 'succeeded' };

/** An open job of the suite's own cluster and how to report on it. */
async function openJob(stage: Stage, name: string, acknowledge = true) {
  const { job, cluster } = await nextJob(stage, 'install', name, { acknowledge });
  const id = String(job['id']);
  const post = async (
    what: 'ack' | 'status' | 'result',
    body?: unknown,
    by: ClusterClient = cluster,
  ): Promise<Answer> => await by.post(`/api/agent/jobs/${id}/${what}`, body);
  return { id, post };
}

/** Ack, status and result. */
export const JOB_REPORTS: readonly Check[] = [
  {
    id: 'job-reports.unknown-job',
    section: SPEC.errors,
    heading: PAGE.errors,
    sentence: 'a job id that does not exist is 404 job_not_found',
    run: async (stage) => {
      const cluster = await stage.cluster();
      mustRefuse(await cluster.post('/api/agent/jobs/no-such-job/ack'), 404, 'job_not_found');
      mustRefuse(await cluster.post('/api/agent/jobs/no-such-job/status', { phase: 'Ready' }), 404, 'job_not_found');
      mustRefuse(await cluster.post('/api/agent/jobs/no-such-job/result', SUCCEEDED), 404, 'job_not_found');
    },
  },
  {
    id: 'job-reports.flow',
    section: SPEC.flow,
    heading: PAGE.jobs,
    sentence: 'ack, status and result are each answered 204',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'flow', false);
      const timestamp = new Date().toISOString();
      mustBe(await post('ack'), 204);
      const condition = { type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling', message: 'installs' };
      const conditions = [{ ...condition, lastTransitionTime: timestamp }];
      mustBe(await post('status', { phase: 'Reconciling', conditions, message: 'installs', timestamp }), 204);
      const appliedRef = {
        apiVersion: 'apps.service.io/v1alpha1',
        kind: 'ApplicationInstance',
        namespace: 'conformance',
        name: 'flow',
        uid: '00000000-0000-4000-8000-000000000000',
        generation: 1,
      };
      mustBe(await post('result', { outcome: 'succeeded', appliedRef, timestamp }), 204);
    },
  },
  {
    id: 'job-reports.ack-again',
    section: DECISIONS.jobs,
    heading: PAGE.ack,
    sentence: 'an ack is 204 until the job is closed, with or without an empty JSON body',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'ack-again');
      mustBe(await post('ack'), 204);
      mustBe(await post('ack', {}), 204);
    },
  },
  {
    id: 'job-reports.result-again',
    section: SPEC.rule(2),
    heading: PAGE.result,
    sentence: 'a second result is 409 result_exists, whatever it says',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'result-again');
      mustBe(await post('result', SUCCEEDED), 204);
      mustRefuse(await post('result', SUCCEEDED), 409, 'result_exists');
      mustRefuse(await post('result', { outcome: 'failed', error: 'other' }), 409, 'result_exists');
    },
  },
  {
    id: 'job-reports.closed',
    section: SPEC.rule(1),
    heading: PAGE.ack,
    sentence: 'ack and status of a closed job are 409 job_closed',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'closed');
      mustBe(await post('result', { outcome: 'noop', error: 'expired' }), 204);
      mustRefuse(await post('ack'), 409, 'job_closed');
      mustRefuse(await post('status', { phase: 'Ready' }), 409, 'job_closed');
    },
  },
  {
    id: 'job-reports.without-ack',
    section: DECISIONS.jobs,
    heading: PAGE.ack,
    sentence: 'a status or a result without an ack is taken, and acknowledges',
    needs: 'admin',
    run: async (stage) => {
      const { id, post } = await openJob(stage, 'without-ack', false);
      mustBe(await post('status', { phase: 'Applying' }), 204);
      const answer = await (await stage.other()).poll(0);
      must(!answer.text.includes(id), 'the job no more', answer);
      const other = await openJob(stage, 'without-ack-2', false);
      mustBe(await other.post('result', SUCCEEDED), 204);
    },
  },
  {
    id: 'job-reports.outcomes',
    section: SPEC.result,
    heading: PAGE.result,
    sentence: 'outcome is succeeded, failed, noop or conflict; failed needs an error; anything else is 400',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'outcomes');
      const broken = [{}, { outcome: 'done' }, { outcome: 1 }, { outcome: 'failed' }, { outcome: 'failed', error: 7 }];
      for (const body of broken) mustRefuse(await post('result', body), 400, 'constraint_violated');
      mustRefuse(await post('result', [SUCCEEDED]), 400, 'constraint_violated');
      mustRefuse(await post('result', { ...SUCCEEDED, appliedRef: { kind: 'X' } }), 400, 'constraint_violated');
      mustRefuse(await post('result', { ...SUCCEEDED, timestamp: 'yesterday' }), 400, 'constraint_violated');
      mustBe(await post('result', { outcome: 'conflict', error: 'kubectl owns .spec.chart.version' }), 204);
    },
  },
  {
    id: 'job-reports.phases',
    section: DECISIONS.jobs,
    heading: PAGE.status,
    sentence: 'any number of statuses is taken, and a phase that is not known is stored as it is',
    needs: 'admin',
    run: async (stage) => {
      const { id, post } = await openJob(stage, 'phases');
      for (const phase of ['Accepted', 'Applying', 'Reconciling', 'Deleting', 'SomethingLater']) {
        mustBe(await post('status', { phase }), 204);
      }
      const shown = await stage.admin.succeed('GET', `/jobs/${id}`);
      must(shown['phase'] === 'SomethingLater', `phase SomethingLater, not ${String(shown['phase'])}`);
    },
  },
  {
    id: 'job-reports.status-fields',
    section: SPEC.status,
    heading: PAGE.status,
    sentence: 'a status of the wrong form is 400, with the path of its fault',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'status-fields');
      const broken = [
        {},
        { phase: 5 },
        { phase: '' },
        { phase: 'Ready', conditions: {} },
        { phase: 'Ready', conditions: [{}] },
        { phase: 'Ready', timestamp: 'now' },
        { phase: 'Ready', message: ['x'] },
      ];
      for (const body of broken) mustRefuse(await post('status', body), 400, 'constraint_violated');
    },
  },
  {
    id: 'job-reports.another-clusters-job',
    section: DECISIONS.errors,
    heading: PAGE.errors,
    sentence: "another cluster's job is 403 cluster_mismatch, and stays as it was",
    needs: 'admin',
    run: async (stage) => {
      const { id, post } = await openJob(stage, 'foreign');
      const stranger = await stage.cluster();
      mustRefuse(await post('ack', undefined, stranger), 403, 'cluster_mismatch');
      mustRefuse(await post('status', { phase: 'Ready' }, stranger), 403, 'cluster_mismatch');
      mustRefuse(await post('result', SUCCEEDED, stranger), 403, 'cluster_mismatch');
      const shown = await stage.admin.succeed('GET', `/jobs/${id}`);
      must(shown['state'] === 'acknowledged', `state acknowledged, not ${String(shown['state'])}`);
    },
  },
  {
    id: 'job-reports.is-shown',
    section: SPEC.jobStates,
    heading: PAGE.result,
    sentence: 'a result closes the job, and the outcome is there to be read',
    needs: 'admin',
    run: async (stage) => {
      const { id, post } = await openJob(stage, 'shown');
      mustBe(await post('result', { outcome: 'failed', error: 'no such chart' }), 204);
      const shown = await stage.admin.succeed('GET', `/jobs/${id}`);
      const facts = { state: shown['state'], outcome: shown['outcome'], error: shown['error'] };
      const expected = { state: 'closed', outcome: 'failed', error: 'no such chart' };
      must(
        JSON.stringify(facts) === JSON.stringify(expected),
        `${JSON.stringify(expected)}, not ${JSON.stringify(facts)}`,
      );
    },
  },
  {
    id: 'job-reports.extra-fields',
    section: SPEC.rule(8),
    heading: PAGE.every,
    sentence: 'additional fields in statuses and results are tolerated',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'extra-fields');
      mustBe(await post('ack', { later: 1 }), 204);
      mustBe(await post('status', { phase: 'Ready', later: [{}] }), 204);
      mustBe(await post('result', { ...SUCCEEDED, later: { deep: null } }), 204);
    },
  },
  {
    id: 'job-reports.size',
    section: DECISIONS.errors,
    heading: PAGE.limits,
    sentence: 'a status over 1 MiB is 413 and names the limit, the job stays open',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'size');
      mustRefuse(await post('status', { phase: 'Ready', padding: 'x'.repeat(2 * MIB) }), 413, 'payload_too_large');
      mustBe(await post('result', SUCCEEDED), 204);
    },
  },
  {
    id: 'job-reports.as-one-object',
    section: SPEC.endpoints,
    heading: PAGE.every,
    sentence: 'the body of an answer 204 is empty and says the config revision all the same',
    needs: 'admin',
    run: async (stage) => {
      const { post } = await openJob(stage, 'revision');
      const answer = await post('result', SUCCEEDED);
      must(isObject(mustBe(answer, 204)), 'an empty body', answer);
      must(answer.headers['service-config-revision'] !== undefined, 'Service-Config-Revision', answer);
      must(answer.headers['service-request-id'] !== undefined, 'Service-Request-Id', answer);
    },
  },
];
