import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import { EventsRequest, MAX_EVENT_POST_BYTES } from '../../../protocol/event.ts';
import { EVENT_LOG_HEADER, formatEventLogMark, type EventLogMark } from '../../../protocol/event-log.ts';
import { checkEvents } from '../../../events/ingest/check-events.ts';
import { ingestEvents } from '../../../events/ingest/ingest-events.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Measuring } from '../../metrics/control-plane-metrics.ts';
import { noteAhead } from '../../jobs/note-ahead.ts';
import { noteReportedEpoch } from '../../modes/note-reported-epoch.ts';
import { openSwitchOf } from '../../modes/switch-rows.ts';
import { findCluster } from '../../store/clusters.ts';
import { eventIngestStore } from '../../store/event-ingest-store.ts';
import { lastEventSeq } from '../../store/events.ts';
import type { Store } from '../../store/open-store.ts';
import { CHANNEL_TOPIC, DELIVERY_TOPIC, MODES_TOPIC, configTopic, statusTopic } from '../../topics.ts';
import type { Wakeups } from '../../wakeups.ts';
import { answers, NoAnswer } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { RefusalAudit } from '../../refusal-audit.ts';
import { agentOf } from './authenticate.ts';
import { limited, type RateLimits } from './rate-limits.ts';
import { requireSignature } from './require-signature.ts';

export interface EventsRouteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly wakeups: Wakeups;
  readonly refusals: RefusalAudit;
  readonly rateLimits: RateLimits;
  readonly measuring?: Pick<Measuring, 'count'>;
}

const SCHEMA = {
  tags: ['agent'],
  operationId: 'postEvents',
  summary: 'What has become of resources; 204 once it is on the disk',
  body: EventsRequest,
  response: answers({ 204: NoAnswer }),
};

/**
 * `POST /api/agent/events`: all of a post is stored or nothing of it, in one transaction, and 204 is answered after it is
 * on the disk. A replayed post is 204 and changes nothing.
 */
export function eventsRoute(app: HttpServer, deps: EventsRouteDeps): void {
  app.post(
    '/api/agent/events',
    {
      ...limited(deps.rateLimits, 'events'),
      bodyLimit: MAX_EVENT_POST_BYTES,
      preValidation: requireSignature(deps),
      schema: SCHEMA,
    },
    async (request, reply) => {
      const mark = await takeEvents(deps, request, request.body);
      if (mark !== undefined) reply.header(EVENT_LOG_HEADER, formatEventLogMark(mark));
      return await noContent(reply);
    },
  );
}

/** Answers where the record of the cluster's events stood and stands; undefined for a post without any. */
async function takeEvents(
  deps: EventsRouteDeps,
  request: FastifyRequest,
  body: EventsRequest,
): Promise<EventLogMark | undefined> {
  const { cluster } = agentOf(request);
  if (body.cluster_id !== undefined && body.cluster_id !== cluster.id) {
    await deps.refusals.record(cluster, {
      kind: 'ClusterMismatch',
      summary: 'events for another cluster were posted with the credential of this one',
      reason: 'cluster_mismatch',
    });
    throw new AppError('cluster_mismatch', 'cluster_id is not the cluster that this credential belongs to');
  }
  checkEvents(body.events);
  if (body.events.length === 0) return undefined;
  const outcome = await deps.store.write(async (trx) => {
    // Read again in here: a mode switch that was committed since raised the epoch.
    const current = await findCluster(trx, cluster.id);
    if (current === undefined) throw new AppError('invalid_token', 'the cluster of this agent credential was deleted');
    const at = deps.clock.now().toISOString();
    const before = await lastEventSeq(trx, cluster.id);
    const store = eventIngestStore(trx, current, at);
    const ingested = await ingestEvents({ store, deliveryEpoch: current.delivery_epoch, events: body.events });
    const after = ingested.recorded === 0 ? before : await lastEventSeq(trx, cluster.id);
    const isNewEpoch = await noteReportedEpoch(trx, current, body.events);
    const isAwaited = (isNewEpoch || ingested.recorded > 0) && (await openSwitchOf(trx, cluster.id)) !== undefined;
    return { ...ingested, mark: { before, after }, isAwaited, ahead: await noteAhead(trx, current, body.events, at) };
  });
  deps.measuring?.count('service_events_total', { outcome: 'recorded' }, outcome.recorded);
  deps.measuring?.count('service_events_total', { outcome: 'duplicate' }, body.events.length - outcome.recorded);
  if (outcome.isAwaited) deps.wakeups.notify(MODES_TOPIC);
  if (outcome.ahead.configChanged) deps.wakeups.notify(configTopic(cluster.id));
  if (outcome.ahead.redelivered) deps.wakeups.notify(DELIVERY_TOPIC);
  if (outcome.told > 0) deps.wakeups.notify(CHANNEL_TOPIC);
  if (outcome.recorded > 0) deps.wakeups.notify(statusTopic(cluster.id));
  return outcome.mark;
}

async function noContent(reply: FastifyReply): Promise<FastifyReply> {
  return await reply.code(204).send();
}
