import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyServerOptions,
  type RawServerDefault,
} from 'fastify';
import { REQUEST_ID_HEADER } from '../../protocol/agent-config.ts';
import { AppError } from '../../protocol/app-error.ts';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { answerBrokenRequest, answerError, answerNotFound, bodyMediaType } from './answer-error.ts';
import { overlookBrokenMediaType, readBodiesStrictly } from './body-parsers.ts';
import { healthRoutes } from './health.ts';
import { openApiRoute } from './openapi/openapi.ts';
import { validatorCompiler } from './validator.ts';

/** Largest body where a route does not set `bodyLimit`. */
export const DEFAULT_BODY_LIMIT = 1_048_576;

/** From the first byte of a request to its last: ends clients that trickle. */
const REQUEST_TIMEOUT_MS = 60_000;
/** How often requests are looked through for that, in the limit itself. */
const LOOKS_PER_TIMEOUT = 10;
/** Longer than the idle limits of common proxies, so that they close first and no request meets a closing connection. */
const KEEP_ALIVE_MS = 75_000;

/** The server with schemas that give handlers their types. */
export type HttpServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborted when the server begins to close: a held request answers at once as if its wait had ended. */
    readonly closing: AbortSignal;
    /** The answer where no route of the server fits. */
    readonly answerNotFound: ReturnType<typeof answerNotFound>;
  }
}

export interface HttpServerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomBytes: (n: number) => Uint8Array;
  /** Rejects while the program cannot do its work, for example without its database. */
  readonly ready: () => Promise<void>;
  /** PEM texts. Without them the server speaks plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
  /** Addresses or CIDRs whose `X-Forwarded-*` headers count. */
  readonly trustedProxies?: readonly string[];
  /** From the first byte of a request to its last; 60 s by default. */
  readonly requestTimeoutMs?: number;
}

/**
 * A server without routes but `/healthz` and `/readyz`: strict JSON bodies, schemas checked with our messages, request
 * ids, and every failure, the framework's own included, in the one error body.
 */
export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = deps;
  const connections = {
    connectionsCheckingInterval: requestTimeoutMs / LOOKS_PER_TIMEOUT,
    // Node takes the greater of the two for the whole request, in whichever order they are given.
    headersTimeout: requestTimeoutMs,
    // Node would refuse a request without Host itself, in a form that is not ours.
    requireHostHeader: false,
  };
  const newRequestId = (): string => newId('req', deps.clock.now(), deps.randomBytes);
  const options: FastifyServerOptions = {
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // A logger of its own for each of thousands of held requests would be a tenth of what they take; lines name the id.
    childLoggerFactory: (logger) => logger,
    // Never the client's: ids in our log are unique and hold no text from outside.
    requestIdHeader: false,
    genReqId: newRequestId,
    bodyLimit: DEFAULT_BODY_LIMIT,
    requestTimeout: requestTimeoutMs,
    rewriteUrl: (request) => originForm(request.url ?? '/'),
    keepAliveTimeout: KEEP_ALIVE_MS,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1024 },
    trustProxy:
      deps.trustedProxies === undefined || deps.trustedProxies.length === 0 ? false : [...deps.trustedProxies],
    frameworkErrors: answerError,
    clientErrorHandler: (error, socket) => {
      answerBrokenRequest(error, socket, newRequestId());
    },
    ...(deps.tls === undefined
      ? { http: connections }
      : {
          https: {
            ...connections,
            ...deps.tls,
            minVersion: 'TLSv1.2',
            requestCert: deps.tls.ca !== undefined,
            rejectUnauthorized: false,
          },
        }),
  };
  const app = fastify(options).withTypeProvider<TypeBoxTypeProvider>() as unknown as HttpServer;

  // Other expectations than 100-continue are passed over, which RFC 9110 (section 10.1.1) allows.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));

  const closing = new AbortController();
  app.decorate('closing', closing.signal);
  app.addHook('preClose', async () => {
    closing.abort(new Error('the server is closing'));
  });

  app.setValidatorCompiler(validatorCompiler);
  // Response schemas document the API; they neither drop members nor check them.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  readBodiesStrictly(app);
  app.setErrorHandler(answerError);
  app.decorate('answerNotFound', answerNotFound(app));
  app.setNotFoundHandler(app.answerNotFound);

  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    overlookBrokenMediaType(request.raw.headers);
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new AppError('invalid_body', 'the Host header is missing (RFC 9112, section 3.2)');
    }
    if (closing.signal.aborted) {
      reply.header('connection', 'close');
      throw new AppError('unavailable', 'the server is restarting; try again', { retryAfterSeconds: 1 });
    }
  });
  app.addHook('onSend', async (request, reply, payload: unknown) => {
    const mediaType = bodyMediaType(request.url);
    if (mediaType !== undefined && (payload === undefined || typeof payload === 'string')) {
      reply.header('content-type', mediaType);
    }
    return payload;
  });
  app.addHook('onResponse', async (request, reply) => {
    // The path without its query, and no headers: neither may hold a secret, and then none can leak.
    const [path] = request.url.split('?', 1);
    const line = {
      requestId: request.id,
      method: request.method,
      path,
      status: reply.statusCode,
      ms: reply.elapsedTime,
    };
    if (reply.statusCode >= 500) deps.logger.warn(line, 'request failed');
    else deps.logger.debug(line, 'request');
  });
  openApiRoute(app);
  // Behind the document's, so that it sees them.
  app.register(async (scope: HttpServer) => healthRoutes(scope, deps));
  return app;
}

/** `http://host/path` is the same request as `/path` (RFC 9112, section 3.2.2); forward proxies leave it so. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const [, path] = /^https?:\/\/[^/?#]*([/?].*)?$/i.exec(target) ?? [];
  if (path === undefined) return target;
  return path.startsWith('?') ? `/${path}` : path;
}
