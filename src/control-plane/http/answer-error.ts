import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { REQUEST_ID_HEADER } from '../../protocol/agent-config.ts';
import { AppError } from '../../protocol/app-error.ts';
import { errorBody } from '../../protocol/http-error.ts';
import { AGENT_MEDIA_TYPE } from '../../protocol/media-type.ts';
import { AllowedMethods, type RouteSource } from './allowed-methods.ts';

/** How long a client that was refused by hand may take to read that. */
const LINGER_MS = 500;

export const AGENT_PREFIX = '/api/agent';

/** The media type of every answer under the agent API, errors included; undefined elsewhere. */
export function bodyMediaType(url: string): string | undefined {
  return url === AGENT_PREFIX || url.startsWith(`${AGENT_PREFIX}/`) || url.startsWith(`${AGENT_PREFIX}?`)
    ? AGENT_MEDIA_TYPE
    : undefined;
}

/** Answers any failure in the one error body. What the client must not see goes to the log, under the same request id. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body, retryAfterSeconds } = errorBody(error, request.id);
  if (status >= 500) request.log.error({ err: error, code: body.error, requestId: request.id }, 'request failed');
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  reply.header(REQUEST_ID_HEADER, request.id);
  // As bytes: to text of an object's media type the framework adds a charset, which JSON has not (RFC 8259, section 11).
  const mediaType = bodyMediaType(request.url) ?? 'application/json';
  reply
    .code(status)
    .header('content-type', mediaType)
    .send(Buffer.from(JSON.stringify(body)));
}

/**
 * The answer where no route fits. The protocol's list of codes has none for a wrong method, so that too is `not_found`;
 * `Allow` and the message say what would be taken.
 */
export function answerNotFound(app: RouteSource): (request: FastifyRequest, reply: FastifyReply) => void {
  const routes = new AllowedMethods(app);
  return (request, reply) => {
    const allowed = routes.at(request.url);
    const hint = allowed.length === 0 ? '' : `; this path takes ${allowed.join(', ')}`;
    if (allowed.length > 0) reply.header('allow', allowed.join(', '));
    answerError(new AppError('not_found', `there is no ${request.method} at this path${hint}`), request, reply);
  };
}

/** What node could not even read as a request (`clientError`): no request object exists, so the answer is written by hand. */
export function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Duplex,
  requestId: string,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body, retryAfterSeconds } = errorBody(
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new AppError('unavailable', 'the request did not arrive in time')
      : new AppError(
          'invalid_body',
          error.code === 'HPE_HEADER_OVERFLOW'
            ? 'the headers of the request are too large'
            : 'this is not an HTTP request',
        ),
    requestId,
  );
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `Service-Request-Id: ${requestId}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    'Connection: close',
  ];
  // Half closed at first: a reset while the client still sends could cost it the answer. But then for good, since a client
  // that goes on sending would keep the connection for ever.
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(linger));
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
