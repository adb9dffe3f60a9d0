import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { CONFIG_REVISION_HEADER } from '../../../protocol/agent-config.ts';
import { AppError } from '../../../protocol/app-error.ts';
import { Job } from '../../../protocol/job.ts';
import { JobOffers, type JobOffersDeps } from '../../jobs/job-offers.ts';
import type { Measuring } from '../../metrics/control-plane-metrics.ts';
import type { RefusalAudit } from '../../refusal-audit.ts';
import type { Wakeups } from '../../wakeups.ts';
import { answerOf, answers, listOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import { agentOf, authenticate, type AuthenticateDeps } from './authenticate.ts';
import { HeldPolls, type HeldPoll } from './held-polls.ts';
import { limited, type RateLimits } from './rate-limits.ts';

/** Specification, "Limits". */
const DEFAULT_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS = 300;

export interface JobsRouteDeps extends AuthenticateDeps, JobOffersDeps {
  readonly wakeups: Wakeups;
  readonly refusals: RefusalAudit;
  readonly rateLimits: RateLimits;
  readonly measuring?: Pick<Measuring, 'count' | 'read'>;
}

const Query = Type.Object({
  cluster: Type.String(),
  wait: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS })),
});

const JobsAnswer = answerOf('AgentJobsAnswer', { jobs: listOf(answerOf('AgentJobAnswer', Job.properties)) });
const SCHEMA = {
  tags: ['agent'],
  operationId: 'pollJobs',
  summary: 'The jobs that nobody has acknowledged, held until there are any',
  querystring: Query,
  response: answers({ 200: JobsAnswer }),
};

/** What a poll knows when it begins. */
interface Poll {
  readonly request: FastifyRequest;
  /** Revision of the configuration: another one ends the poll, so that its answer's header tells of it. */
  readonly revision: string;
}

/**
 * `GET /api/agent/jobs?cluster=<id>&wait=<seconds>`: the jobs that nobody has acknowledged, held until there are any. It
 * answers early and empty when the configuration changes. `Service-Config-Revision` in the request says which one the
 * caller has; without it, it is taken to have the present one.
 */
export function jobsRoute(app: HttpServer, deps: JobsRouteDeps): void {
  const offers = new JobOffers(deps);
  const polls = new HeldPolls(deps);
  deps.measuring?.read('service_held_polls', () => polls.count());
  app.closing.addEventListener('abort', () => polls.endAll(), { once: true });
  const options = { ...limited(deps.rateLimits, 'polls'), schema: SCHEMA };
  app.get('/api/agent/jobs', options, async (request, reply) => {
    await requireOwnCluster(deps, request, request.query.cluster);
    const waitMs = (request.query.wait ?? DEFAULT_WAIT_SECONDS) * 1000;
    const poll = { request, revision: knownRevision(request) };
    const jobs = waitMs === 0 ? await look(offers, poll) : await wait(deps, offers, polls, { ...poll, reply, waitMs });
    return await reply.header('cache-control', 'no-store').send({ jobs: jobs ?? [] });
  });
}

async function wait(
  deps: JobsRouteDeps,
  offers: JobOffers,
  polls: HeldPolls,
  poll: Poll & { readonly reply: FastifyReply; readonly waitMs: number },
): Promise<readonly Job[] | undefined> {
  const { request, reply } = poll;
  using place = polls.hold(agentOf(request).cluster.id, poll.waitMs);
  const leave = (): void => place.end();
  reply.raw.on('close', leave);
  try {
    let answer = await lookFirst(deps, offers, poll);
    while (answer === undefined && !reply.raw.closed) {
      letGo(request, reply);
      if ((await place.next()) === 'ended') break;
      // Again, so that a revoked credential or a disabled cluster ends it.
      request.agent = await authenticate(deps, request.headers.authorization);
      answer = await look(offers, poll, place);
    }
    if (answer !== undefined && answer.length > 0) place.take();
    return answer;
  } finally {
    reply.raw.off('close', leave);
  }
}

/**
 * Thousands wait here: what the wait does not need is let go. Who is woken reads its cluster again; who is not answers with
 * the revision that it knew.
 */
function letGo(request: FastifyRequest, reply: FastifyReply): void {
  reply.header(CONFIG_REVISION_HEADER, String(agentOf(request).cluster.config_revision));
  request.agent = null;
}

/** The row that authentication read may be older than the poll's place; a change in between must not be missed. */
async function lookFirst(deps: JobsRouteDeps, offers: JobOffers, poll: Poll): Promise<readonly Job[] | undefined> {
  const { cluster } = agentOf(poll.request);
  const now = await deps.store.db
    .selectFrom('clusters')
    .select('config_revision')
    .where('id', '=', cluster.id)
    .executeTakeFirst();
  if (now?.config_revision !== cluster.config_revision) {
    poll.request.agent = await authenticate(deps, poll.request.headers.authorization);
  }
  return await look(offers, poll);
}

/**
 * @param place another poll of the cluster may be newer: then that one gets the jobs
 * @returns undefined to go on waiting
 */
async function look(offers: JobOffers, poll: Poll, place?: HeldPoll): Promise<readonly Job[] | undefined> {
  const { cluster } = agentOf(poll.request);
  if (String(cluster.config_revision) !== poll.revision) return [];
  if (cluster.connectivity_mode !== 'pull' || place?.isNewest === false) return undefined;
  const jobs = await offers.take(cluster);
  return jobs.length === 0 ? undefined : jobs;
}

function knownRevision(request: FastifyRequest): string {
  const header = request.headers[CONFIG_REVISION_HEADER];
  return typeof header === 'string' ? header : String(agentOf(request).cluster.config_revision);
}

/** @throws AppError `cluster_mismatch`, which is audited */
async function requireOwnCluster(deps: JobsRouteDeps, request: FastifyRequest, clusterId: string): Promise<void> {
  const { cluster } = agentOf(request);
  if (clusterId === cluster.id) return;
  await deps.refusals.record(cluster, {
    kind: 'ClusterMismatch',
    summary: 'jobs of another cluster were asked for with the credential of this one',
    reason: 'cluster_mismatch',
  });
  throw new AppError('cluster_mismatch', 'cluster is not the cluster that this credential belongs to');
}
