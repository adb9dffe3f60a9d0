import { Type } from 'typebox';
import { refusal } from '../../../protocol/parse.ts';
import type { HttpServer } from '../server.ts';
import { bodyMayBeAbsent, NoBody } from './named-cluster.ts';

const NoQuery = Type.Object({}, { additionalProperties: false });

/**
 * Whatever a route of this scope does not read is refused: parameters of a query and, where nothing is read of it, a body.
 * Passed over, `?dryRun=true` would be carried out.
 */
export function refuseUnread(scope: HttpServer): void {
  scope.addHook('onRoute', (route) => {
    const { schema = {}, preValidation = [] } = route;
    const takesBody = ![route.method].flat().every((method) => method === 'GET' || method === 'HEAD');
    const readsNothing = takesBody && schema.body === undefined;
    route.schema = { querystring: NoQuery, ...schema, ...(readsNothing ? { body: NoBody } : {}) };
    if (readsNothing) route.preValidation = [bodyMayBeAbsent, ...[preValidation].flat()];
  });
  scope.addHook('preValidation', async ({ query }) => {
    if (!Object.hasOwn(query as object, 'dryRun')) return;
    const message =
      'is not known: of POST /clusters/{id}/mode it is a field of the body, and there is no other dry run; nothing was done';
    throw refusal([{ path: '/dryRun', message }]);
  });
}
