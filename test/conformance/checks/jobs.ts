import { setTimeout as sleep } from 'node:timers/promises';
import { NAMESPACE } from '../admin-client.ts';
import { unknownClusterId } from '../agent-identity.ts';
import { isObject, must, mustBe, mustRefuse, stringIn, timeIn, type Check } from '../check.ts';
import { drain, jobsIn, nextJob } from '../next-job.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';

const HOUR_MS = 3_600_000;

/** How jobs come to a cluster. */
export const JOBS: readonly Check[] = [
  {
    id: 'jobs.empty-poll',
    section: SPEC.endpoints,
    heading: PAGE.poll,
    sentence: 'a poll without a job is answered 200 with an empty jobs array, at once with wait=0',
    run: async (stage) => {
      const answer = await (await stage.cluster()).poll(0);
      must(jobsIn(answer).length === 0, 'no jobs', answer);
      must(answer.ms < 5000, 'an answer at once', answer);
    },
  },
  {
    id: 'jobs.cluster-is-required',
    section: SPEC.endpoints,
    heading: PAGE.poll,
    sentence: 'the query parameter cluster is required',
    run: async (stage) => {
      mustRefuse(await (await stage.cluster()).get('/api/agent/jobs?wait=0'), 400, 'constraint_violated');
    },
  },
  {
    id: 'jobs.another-cluster',
    section: SPEC.rule(3),
    heading: PAGE.poll,
    sentence: "a cluster that is not the credential's is 403",
    run: async (stage) => {
      const answer = await (await stage.cluster()).get(`/api/agent/jobs?cluster=${unknownClusterId()}&wait=0`);
      mustRefuse(answer, 403, 'cluster_mismatch');
    },
  },
  {
    id: 'jobs.apply',
    section: SPEC.job,
    heading: PAGE.payloads,
    sentence: 'an install comes as a job of kind apply with a whole manifest',
    needs: 'admin',
    run: async (stage) => {
      const { job, answer } = await nextJob(stage, 'install', 'apply');
      must(job['kind'] === 'apply', 'kind apply', answer);
      const { payload } = job;
      must(isObject(payload), 'a payload', answer);
      must(payload['apiVersion'] === 'apps.service.io/v1alpha1', 'apiVersion apps.service.io/v1alpha1', answer);
      must(payload['kind'] === 'ApplicationInstance', 'kind ApplicationInstance', answer);
      const { metadata } = payload;
      must(isObject(metadata) && metadata['name'] === 'apply' && metadata['namespace'] === NAMESPACE, 'name', answer);
      must(isObject(payload['spec']), 'a spec', answer);
    },
  },
  {
    id: 'jobs.fields',
    section: SPEC.job,
    heading: PAGE.poll,
    sentence: 'a job has id, idempotencyKey <kind>/<namespace>/<name>@<generation>, createdAt and expiresAt',
    needs: 'admin',
    run: async (stage) => {
      const { job, answer } = await nextJob(stage, 'install', 'fields');
      stringIn(job, 'id', answer);
      const key = `applicationinstance/${NAMESPACE}/fields@${String(job['generation'])}`;
      must(job['idempotencyKey'] === key, `idempotencyKey ${key}`, answer);
      const createdAt = timeIn(job, 'createdAt', answer);
      must(Math.abs(createdAt - Date.now()) < 300_000, 'createdAt is now', answer);
      const hours = (timeIn(job, 'expiresAt', answer) - createdAt) / HOUR_MS;
      must(hours > 0, 'expiresAt after createdAt', answer);
    },
  },
  {
    id: 'jobs.order',
    section: DECISIONS.jobs,
    heading: PAGE.order,
    sentence:
      'a job carries deliveryEpoch and generation, its object the annotation app.service.io/source with the same pair',
    needs: 'admin',
    run: async (stage) => {
      const first = await nextJob(stage, 'install', 'order');
      const second = await nextJob(stage, 'update', 'order');
      for (const { job, answer } of [first, second]) {
        const pair = `${String(job['deliveryEpoch'])}.${String(job['generation'])}`;
        must(/^\d+\.\d+$/.test(pair), 'two integers', answer);
        const { metadata } = job['payload'] as { metadata?: { annotations?: Record<string, string> } };
        must(metadata?.annotations?.['app.service.io/source'] === pair, `the annotation ${pair}`, answer);
      }
      must(Number(second.job['generation']) > Number(first.job['generation']), 'a higher generation', second.answer);
    },
  },
  {
    id: 'jobs.wakes-a-held-poll',
    section: SPEC.flow,
    heading: PAGE.poll,
    sentence: 'a poll is held open until a job is ready, and then answered with it at once',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      await nextJob(stage, 'install', 'held');
      await drain(cluster);
      const held = cluster.poll(15);
      await sleep(300);
      await stage.admin.intend(cluster.id, 'update', 'held');
      const answer = await held;
      must(answer.ms > 200 && answer.ms < 8000, 'an answer soon after the intent', answer);
      must(jobsIn(answer).length > 0, 'the job', answer);
      await drain(cluster);
    },
  },
  {
    id: 'jobs.again-until-acknowledged',
    section: SPEC.jobStates,
    heading: PAGE.poll,
    sentence: 'a job comes with every poll until it is acknowledged, and not after that',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const { job, answer } = await nextJob(stage, 'install', 'again', { acknowledge: false });
      const has = (of: typeof answer): boolean => jobsIn(of).some(({ id }) => id === job['id']);
      const second = await cluster.poll(0);
      must(has(second), 'the same job', second);
      mustBe(await cluster.post(`/api/agent/jobs/${String(job['id'])}/ack`), 204);
      const third = await cluster.poll(0);
      must(!has(third), 'the job no more', third);
    },
  },
  {
    id: 'jobs.delete',
    section: SPEC.job,
    heading: PAGE.payloads,
    sentence: 'an uninstall comes as a job of kind delete with an object reference',
    needs: 'admin',
    run: async (stage) => {
      await nextJob(stage, 'install', 'gone');
      const { job, answer } = await nextJob(stage, 'uninstall', 'gone');
      must(job['kind'] === 'delete', 'kind delete', answer);
      const reference = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', name: 'gone' };
      const { payload } = job;
      for (const [name, value] of Object.entries({ ...reference, namespace: NAMESPACE })) {
        must(isObject(payload) && payload[name] === value, `payload.${name} ${value}`, answer);
      }
    },
  },
  {
    id: 'jobs.only-its-own',
    section: SPEC.jobStates,
    heading: PAGE.poll,
    sentence: 'a job goes to the cluster that it is targeted at and to no other',
    needs: 'admin',
    run: async (stage) => {
      const { job } = await nextJob(stage, 'install', 'targeted', { acknowledge: false });
      const answer = await (await stage.cluster()).poll(0);
      must(!answer.text.includes(String(job['id'])), 'nothing of it for another cluster', answer);
    },
  },
  {
    id: 'jobs.intent',
    section: 'Decisions, Intent record',
    heading: PAGE.payloads,
    sentence: 'where a cluster asks for intents they come as records, under a stable hash',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.newCluster();
      await stage.admin.succeed('PATCH', `/clusters/${cluster.id}`, { deliverIntents: true });
      const id = await stage.admin.intend(cluster.id, 'install', 'intended');
      const answer = await cluster.poll(10);
      const [job] = jobsIn(answer);
      must(job !== undefined, 'a job', answer);
      must(job['kind'] === 'intent' && isObject(job['payload']), 'kind intent with a payload', answer);
      const { id: itsId, intentVersion, requestedBy, requestedAt, reason } = job['payload'];
      must(itsId === id && intentVersion === 'v1alpha1', 'the intent itself', answer);
      must(typeof requestedBy === 'string' && typeof requestedAt === 'string', 'requestedBy and requestedAt', answer);
      must(typeof reason === 'string', 'the reason', answer);
      const key = String(job['idempotencyKey']);
      must(/^intent\/sha256-[A-Za-z0-9_-]{43}$/.test(key), 'idempotencyKey intent/sha256-<base64url>', answer);
    },
  },
];
