import type { FastifyRequest } from 'fastify';
import { SIGNATURE_HEADER } from '../../../protocol/agent-config.ts';
import { RecoverRequest, RecoverResponse, RotateRequest, RotateResponse } from '../../../protocol/credentials.ts';
import { RecoverCredential, type RecoverCredentialDeps } from '../../recover-credential.ts';
import { RotateCredential, type RotateCredentialDeps } from '../../rotate-credential.ts';
import { answerOf, answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import { agentOf } from './authenticate.ts';
import { limited, type RateLimits } from './rate-limits.ts';
import { refuseUncertified, requireSignature } from './require-signature.ts';

const ROTATE = {
  tags: ['agent'],
  operationId: 'rotateAgentCredential',
  summary: 'The current credential for a new one',
  body: RotateRequest,
  security: [{ agentToken: [] }, { agentToken: [], agentSignature: [] }],
  response: answers({ 200: answerOf('RotateAnswer', RotateResponse.properties) }),
};
const RECOVER = {
  tags: ['agent'],
  operationId: 'recoverAgentCredential',
  summary: 'A new credential that only who holds the registered key can read',
  body: RecoverRequest,
  security: [],
  response: answers({ 200: answerOf('RecoverAnswer', RecoverResponse.properties) }),
};

/** `POST /api/agent/credentials/rotate`, behind authentication: the current credential for a new one. */
export function rotateRoute(app: HttpServer, deps: RotateCredentialDeps & { readonly rateLimits: RateLimits }): void {
  const rotation = new RotateCredential(deps);
  const verify = requireSignature(deps);
  app.post(
    '/api/agent/credentials/rotate',
    {
      ...limited(deps.rateLimits, 'rotate'),
      preValidation: async (request: FastifyRequest) => {
        if (!request.isCertified) refuseUncertified(agentOf(request).cluster);
        // Not required: who has the token could sign as well. One that is there has to fit.
        if (request.headers[SIGNATURE_HEADER] !== undefined) await verify(request);
        if (request.body === undefined) request.body = {};
      },
      schema: ROTATE,
    },
    async (request, reply) => {
      const { response, configRevision } = await rotation.rotate(agentOf(request), request.body);
      const { cluster } = agentOf(request);
      // The answer tells the revision that it leads to; the hook that sends it reads it from here.
      request.agent = { ...agentOf(request), cluster: { ...cluster, config_revision: configRevision } };
      return await reply.header('cache-control', 'no-store').send(response);
    },
  );
}

/** `POST /api/agent/credentials/recover`, without authentication. */
export function recoverRoute(app: HttpServer, deps: RecoverCredentialDeps & { readonly rateLimits: RateLimits }): void {
  const recovery = new RecoverCredential(deps);
  app.post(
    '/api/agent/credentials/recover',
    { ...limited(deps.rateLimits, 'recover'), schema: RECOVER },
    async (request, reply) => {
      const response = await recovery.recover(request.body.cluster_id);
      return await reply.header('cache-control', 'no-store').send(response);
    },
  );
}
