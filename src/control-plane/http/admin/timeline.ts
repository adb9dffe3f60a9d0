import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { intentTimeline, TimelineItem } from '../../timeline/intent-timeline.ts';
import { readTimeline } from '../../timeline/read-timeline.ts';
import { answerOf, answers, listOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';
import { adminOf } from './authenticate.ts';

const SCHEMA = {
  tags: ['intents'],
  operationId: 'getIntentTimeline',
  summary: 'The way of an intent from its request to what became of it, with what is still to come',
  params: Type.Object({ intent: Type.String({ minLength: 1, maxLength: 64 }) }),
  response: answers({
    200: answerOf('IntentTimelineAnswer', { intent: Type.String(), items: listOf(TimelineItem) }),
  }),
};

/** `GET /intents/{id}/timeline`. */
export function timelineRoute(app: HttpServer, deps: AdminDeps): void {
  app.get('/intents/:intent/timeline', { schema: SCHEMA }, async (request, reply) => {
    const { intent: id } = request.params;
    const facts = await readTimeline(deps.store.db, adminOf(request).organization.id, id);
    if (facts === undefined) throw new AppError('not_found', `there is no intent ${id}`);
    return await reply.send({ intent: facts.intent.id, items: intentTimeline(facts) });
  });
}
