import { Type } from 'typebox';
import { AppError } from '../../../protocol/app-error.ts';
import { answerOf, answers, listOf } from '../openapi/answers.ts';
import type { HttpServer } from '../server.ts';
import type { AdminDeps } from './admin-deps.ts';

/** `email` and `profile`: by the address a member is known at the first sign-in. */
const SCOPES = ['openid', 'email', 'profile'];
/** Where it is supported: so that a command line need not sign in each hour. */
const OFFLINE = 'offline_access';

const LoginAnswer = answerOf('LoginAnswer', {
  token: Type.Boolean({ description: 'whether tokens of the control plane count: always' }),
  oidc: Type.Optional(
    answerOf('OidcLoginAnswer', {
      issuer: Type.String(),
      clientId: Type.String(),
      audience: Type.String({
        description: 'whom the token that is presented must be for; where it is the client id, that is the ID token',
      }),
      scopes: listOf(Type.String()),
      authorizationEndpoint: Type.String(),
      tokenEndpoint: Type.String(),
      deviceAuthorizationEndpoint: Type.Optional(Type.String()),
    }),
  ),
  oidcFault: Type.Optional(Type.String({ description: 'why nobody can sign in by the identity provider now' })),
});

const schema = {
  tags: ['members'],
  operationId: 'getLogin',
  summary: 'How to come in',
  security: [],
  response: answers({ 200: LoginAnswer }),
};

/** `GET /login`, for everybody: whoever asks has no token yet. */
export function loginRoute(app: HttpServer, { oidc }: Pick<AdminDeps, 'oidc'>): void {
  app.get('/login', { schema }, async (_, reply) => {
    reply.header('cache-control', 'no-store');
    return await reply.send({ token: true, ...(oidc === undefined ? {} : await oidcLogin(oidc)) });
  });
}

async function oidcLogin(oidc: NonNullable<AdminDeps['oidc']>) {
  const { issuer, clientId, audience } = oidc.config;
  try {
    const metadata = await oidc.metadata();
    const device = metadata.device_authorization_endpoint;
    return {
      oidc: {
        issuer,
        clientId,
        audience,
        scopes: metadata.scopes_supported?.includes(OFFLINE) === true ? [...SCOPES, OFFLINE] : SCOPES,
        authorizationEndpoint: metadata.authorization_endpoint,
        tokenEndpoint: metadata.token_endpoint,
        ...(device === undefined ? {} : { deviceAuthorizationEndpoint: device }),
      },
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { oidcFault: error.message };
  }
}
