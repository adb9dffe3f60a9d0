import { setMaxListeners } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AgentConfig, type GitSourceConfig } from '../../../protocol/agent-config.ts';
import { configTopic } from '../../topics.ts';
import type { Wakeups } from '../../wakeups.ts';
import type { ClusterRow } from '../../store/schema.ts';
import { answerOf, answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import { agentOf, authenticate, type AuthenticateDeps } from './authenticate.ts';
import { HeldRequests } from './held-requests.ts';
import { limited, type RateLimits } from './rate-limits.ts';
import { projectConfig } from './project-config.ts';

/** As a job poll's (specification, "Limits"). */
const DEFAULT_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS = 300;

export interface ConfigRouteDeps extends AuthenticateDeps {
  readonly wakeups: Wakeups;
  readonly rateLimits: RateLimits;
  /** In gitops mode: where the cluster reads. Its `credential` in the clear is passed on over TLS only. */
  readonly gitSourceFor: (cluster: ClusterRow) => Promise<GitSourceConfig | undefined>;
}

const Query = Type.Object({ wait: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS })) });

const SCHEMA = {
  tags: ['agent'],
  operationId: 'getAgentConfig',
  summary: 'What the operator is to do its work by; held until it changes',
  querystring: Query,
  response: answers({
    200: answerOf('AgentConfigAnswer', AgentConfig.properties),
    304: Type.Null({ description: 'It is what If-None-Match names, after the wait.' }),
  }),
};

/**
 * `GET /api/agent/config?wait=<seconds>`: the projection of the identity record, its revision as ETag. With an
 * `If-None-Match` that fits it is held until the revision changes, then answered at once, or 304 after the wait.
 */
export function configRoute(app: HttpServer, deps: ConfigRouteDeps): void {
  const held = new HeldRequests();
  const options = { ...limited(deps.rateLimits, 'polls'), schema: SCHEMA };
  app.get('/api/agent/config', options, async (request, reply) => {
    const waitMs = (request.query.wait ?? DEFAULT_WAIT_SECONDS) * 1000;
    const known = request.headers['if-none-match'];
    if (known !== undefined && matches(known, agentOf(request).cluster.config_revision)) {
      const change = await nextRevision(app, deps, held, { request, reply, known, waitMs });
      if (change === 'unchanged') {
        return await reply
          .code(304)
          .header('etag', etag(agentOf(request).cluster.config_revision))
          .send();
      }
    }
    const { cluster } = agentOf(request);
    const git = cluster.connectivity_mode === 'gitops' ? await deps.gitSourceFor(cluster) : undefined;
    const body = await projectConfig(deps.store.db, agentOf(request), overThisConnection(request, git));
    return await reply.header('etag', etag(cluster.config_revision)).header('cache-control', 'no-store').send(body);
  });
}

/**
 * Waits for another revision than the one the client knows. The topic's version is taken before the row is read, so a
 * change between the two ends the wait at once. The row of the last look is left in `request.agent`.
 */
async function nextRevision(
  app: HttpServer,
  deps: ConfigRouteDeps,
  held: HeldRequests,
  call: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly known: string;
    readonly waitMs: number;
  },
): Promise<'changed' | 'unchanged'> {
  const { request, reply, known } = call;
  const topic = configTopic(agentOf(request).cluster.id);
  using place = held.hold(agentOf(request).cluster.id);
  const gone = new AbortController();
  const leave = (): void => {
    gone.abort(new Error('the client is gone'));
  };
  reply.raw.once('close', leave);
  const signal = AbortSignal.any([place.signal, gone.signal, app.closing]);
  setMaxListeners(0, app.closing, signal);
  const endAt = deps.clock.now().getTime() + call.waitMs;
  try {
    for (;;) {
      const version = deps.wakeups.version(topic);
      request.agent = await authenticate(deps, request.headers.authorization);
      if (!matches(known, request.agent.cluster.config_revision)) return 'changed';
      const left = endAt - deps.clock.now().getTime();
      if (left <= 0 || signal.aborted) return 'unchanged';
      await deps.wakeups.waitFor(topic, version, signal, left);
    }
  } catch (error) {
    // Closing, gone, or displaced by a newer request: it ends as an empty poll does.
    if (signal.aborted && error === signal.reason) return 'unchanged';
    throw error;
  } finally {
    reply.raw.off('close', leave);
  }
}

function etag(revision: number): string {
  return `"${revision}"`;
}

/** `If-None-Match`: a list of tags, weak ones included, or `*` (RFC 9110, section 13.1.2). */
function matches(header: string, revision: number): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag(revision));
}

/** Without TLS a credential travels encrypted to the cluster's key, or not at all. */
function overThisConnection(request: FastifyRequest, git: GitSourceConfig | undefined): GitSourceConfig | undefined {
  if (git?.credential === undefined || request.protocol === 'https') return git;
  const { credential: _withheld, ...rest } = git;
  return rest;
}
