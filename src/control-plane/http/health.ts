import type { FastifyInstance } from 'fastify';
import { AppError } from '../../protocol/app-error.ts';

/** `GET /healthz`: the process answers. `GET /readyz`: it can do its work; 503 otherwise. */
export function healthRoutes(app: Pick<FastifyInstance, 'get'>, deps: { readonly ready: () => Promise<void> }): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    try {
      await deps.ready();
    } catch (error) {
      const why = error instanceof AppError ? error.message : 'the database does not answer';
      throw new AppError('unavailable', `not ready: ${why}`, { cause: error });
    }
    return { status: 'ready' };
  });
}
