import type { FastifyRequest } from 'fastify';
import { CONFIG_REVISION_HEADER } from '../../../protocol/agent-config.ts';
import { AppError } from '../../../protocol/app-error.ts';
import { RegisterRequest, RegisterResponse } from '../../../protocol/register.ts';
import { equalConstantTime } from '../../../protocol/token.ts';
import { Secret } from '../../../runtime/secret.ts';
import { RegisterCluster, type RegisterClusterDeps } from '../../register-cluster.ts';
import { answerOf, answers } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import { limited, type RateLimits } from './rate-limits.ts';
import { bearerToken } from './authenticate.ts';

const REGISTER = {
  tags: ['agent'],
  operationId: 'registerAgent',
  summary: 'A one-time registration token for a long-lived credential',
  body: RegisterRequest,
  security: [{}, { registrationToken: [] }],
  response: answers({ 200: answerOf('RegisterAnswer', RegisterResponse.properties) }),
};

/** `POST /api/agent/register`: a one-time registration token for a long-lived credential. */
export function registerRoute(app: HttpServer, deps: RegisterClusterDeps & { readonly rateLimits: RateLimits }): void {
  const registration = new RegisterCluster(deps);
  app.post(
    '/api/agent/register',
    {
      ...limited(deps.rateLimits, 'register'),
      // The token may come in the header alone; then there need not be a body.
      preValidation: async (request) => {
        if (request.body === undefined) request.body = {};
      },
      schema: REGISTER,
    },
    async (request, reply) => {
      const { response, configRevision } = await registration.register(
        presentedToken(request, request.body),
        request.body,
      );
      reply.header(CONFIG_REVISION_HEADER, String(configRevision)).header('cache-control', 'no-store');
      return await reply.send(response);
    },
  );
}

function presentedToken(request: FastifyRequest, body: RegisterRequest): Secret {
  const { authorization } = request.headers;
  if (body.token === undefined) {
    if (authorization === undefined) {
      throw new AppError('missing_token', 'the registration token is missing: send it as "token" in the body');
    }
    return bearerToken(authorization);
  }
  if (authorization !== undefined && !equalConstantTime(bearerToken(authorization).expose(), body.token)) {
    throw new AppError('constraint_violated', 'the body and the Authorization header name different tokens', {
      faults: [{ path: '/token', message: 'differs from the Authorization header; send the token once' }],
    });
  }
  return new Secret(body.token);
}
