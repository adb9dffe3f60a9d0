import { randomBytes } from 'node:crypto';
import { adminApi } from '../../src/control-plane/http/admin/admin-api.ts';
import type { AdminDeps } from '../../src/control-plane/http/admin/admin-deps.ts';
import { createHttpServer } from '../../src/control-plane/http/server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';

/** Every route of the admin API as `METHOD /path/:parameter` below its prefix: none can be added past a table of tests. */
export async function adminRouteList(): Promise<string[]> {
  const routes: string[] = [];
  const logger = createLogger('test', 'silent');
  const app = createHttpServer({ clock: systemClock, logger, randomBytes, ready: async () => undefined });
  app.addHook('onRoute', ({ method, url }) => {
    for (const verb of [method].flat()) if (verb !== 'HEAD') routes.push(`${verb} ${url}`);
  });
  // Nothing is called: a route only keeps what it is given.
  const nothing: object = new Proxy(() => nothing, { get: (_target, name) => (name === 'then' ? undefined : nothing) });
  adminApi(app, new Proxy({}, { get: () => nothing }) as AdminDeps);
  await app.ready();
  await app.close();
  const prefix = '/api/v1';
  return routes
    .filter((route) => route.includes(` ${prefix}/`))
    .map((route) => route.replace(prefix, ''))
    .sort();
}
