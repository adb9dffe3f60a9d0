import type { FastifyRequest } from 'fastify';
import { SIGNATURE_HEADER } from '../../../protocol/agent-config.ts';
import { deriveHmacKey, verifyRequestSignature } from '../../../protocol/hmac.ts';
import { AppError } from '../../../protocol/app-error.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { ClusterRow } from '../../store/schema.ts';
import { agentOf } from './authenticate.ts';

/**
 * A hook for writes, between the parsing of the body (whose faults come first) and its schema: the MAC must fit the body
 * as it was read. A request that a client certificate certifies needs none; one that is there all the same is not looked at.
 *
 * @throws AppError `invalid_signature` or `clock_skew`; `forbidden` where the cluster must present its client certificate
 */
export function requireSignature(deps: { readonly clock: Clock }): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    if (request.isCertified) return;
    const { token, cluster } = agentOf(request);
    refuseUncertified(cluster);
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

/** @throws AppError `forbidden` for a request that nothing has certified, of a cluster whose writes need that */
export function refuseUncertified(cluster: Pick<ClusterRow, 'require_client_certificate'>): void {
  if (cluster.require_client_certificate === 0) return;
  throw new AppError(
    'forbidden',
    'writes of this cluster need its client certificate, and none that is valid came with this request; an admin can take the requirement back (requireClientCertificate), or let the cluster register again',
  );
}
