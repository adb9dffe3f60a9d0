import type { FastifyRequest } from 'fastify';
import { SIGNATURE_HEADER } from '../../../protocol/agent-config.ts';
import { deriveHmacKey, verifyRequestSignature } from '../../../protocol/hmac.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { agentOf } from './authenticate.ts';

/**
 * A hook for writes, between the parsing of the body (whose faults come first) and its schema: the MAC must fit the body
 * as it was read. A request that a client certificate certifies needs none; one that is there all the same is not looked at.
 *
 * @throws AppError `invalid_signature` or `clock_skew`
 */
export function requireSignature(deps: { readonly clock: Clock }): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    if (request.isCertified) return;
    const { token, cluster } = agentOf(request);
    const header = request.headers[SIGNATURE_HEADER];
    verifyRequestSignature({
      key: deriveHmacKey(token, cluster.id),
      method: request.method,
      // As sent: a proxy that rewrites paths breaks the MAC, and is meant to.
      path: request.raw.url ?? '',
      body: request.body,
      header: Array.isArray(header) ? header.join(',') : header,
      now: deps.clock.now(),
    });
  };
}
