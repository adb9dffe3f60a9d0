import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../protocol/app-error.ts';
import { answerOf, answers } from './openapi/answers.ts';

const HEALTH = {
  tags: ['meta'],
  operationId: 'getHealth',
  summary: 'Whether the process answers',
  response: answers({ 200: answerOf('HealthAnswer', { status: Type.Literal('ok') }) }),
};
const READINESS = {
  tags: ['meta'],
  operationId: 'getReadiness',
  summary: 'Whether the program can do its work; 503 otherwise',
  response: answers({ 200: answerOf('ReadinessAnswer', { status: Type.Literal('ready') }) }),
};

/** `GET /healthz`: the process answers. `GET /readyz`: it can do its work; 503 otherwise. */
export function healthRoutes(app: Pick<FastifyInstance, 'get'>, deps: { readonly ready: () => Promise<void> }): void {
  app.get('/healthz', { schema: HEALTH }, async () => ({ status: 'ok' }));
  app.get('/readyz', { schema: READINESS }, async () => {
    try {
      await deps.ready();
    } catch (error) {
      const why = error instanceof AppError ? error.message : 'the database does not answer';
      throw new AppError('unavailable', `not ready: ${why}`, { cause: error });
    }
    return { status: 'ready' };
  });
}
