import type { FastifyRequest } from 'fastify';
import { AppError } from '../../protocol/app-error.ts';
import { DEFAULT_BODY_LIMIT } from './server.ts';

/** The framework says that a body is too large, but not how large it may be. Other errors stay as they are. */
export function nameBodyLimit(error: unknown, request: Pick<FastifyRequest, 'routeOptions'>): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')) return error;
  const limit = request.routeOptions.bodyLimit ?? DEFAULT_BODY_LIMIT;
  const message = `the body is larger than ${limit} bytes`;
  return new AppError('payload_too_large', `${message}, the most that this endpoint takes`, {
    cause: error,
    faults: [{ path: '', message, allowed: { maxBytes: limit } }],
  });
}
