import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { refusal } from '../../../protocol/parse.ts';
import type { HttpServer } from '../server.ts';
import { bodyMayBeAbsent, NoBody } from './named-cluster.ts';

const CONDITIONAL = ['PUT', 'PATCH', 'DELETE'];
const NoQuery = Type.Object({}, { additionalProperties: false });

/**
 * Whatever a route of this scope does not read is refused: parameters of a query, a condition where there is no tag that
 * could meet it (RFC 9110, section 13.1.1) and, where nothing is read of it, a body. Passed over, `?dryRun=true` would be
 * carried out.
 */
export function refuseUnread(scope: HttpServer): void {
  const tagged = new Set<string>();
  scope.addHook('onRoute', (route) => {
    const { schema = {}, preValidation = [] } = route;
    const answers = schema.response as Readonly<Record<string, unknown>> | undefined;
    if (route.method === 'GET' && answers?.['304'] !== undefined) tagged.add(route.url);
    const takesBody = ![route.method].flat().every((method) => method === 'GET' || method === 'HEAD');
    const readsNothing = takesBody && schema.body === undefined;
    route.schema = { querystring: NoQuery, ...schema, ...(readsNothing ? { body: NoBody } : {}) };
    if (readsNothing) route.preValidation = [bodyMayBeAbsent, ...[preValidation].flat()];
  });
  scope.addHook('preValidation', async (request) => refuseCondition(request, tagged));
  scope.addHook('preValidation', async ({ query }) => {
    if (!Object.hasOwn(query as object, 'dryRun')) return;
    const message =
      'is not known: of POST /clusters/{id}/mode it is a field of the body, and there is no other dry run; nothing was done';
    throw refusal([{ path: '/dryRun', message }]);
  });
}

function refuseCondition({ method, headers, routeOptions }: FastifyRequest, tagged: ReadonlySet<string>): void {
  if (method === 'GET' || method === 'HEAD') return;
  const given = (['if-match', 'if-none-match'] as const).find((name) => headers[name] !== undefined);
  if (given === undefined || (CONDITIONAL.includes(method) && tagged.has(routeOptions.url ?? ''))) return;
  throw new AppError(
    'precondition_failed',
    `what this call changes has no ETag, so ${given} is never met; leave it out`,
  );
}
