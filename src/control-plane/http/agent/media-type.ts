import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import { AGENT_MEDIA_TYPE } from '../../../protocol/media-type.ts';

/** Ranges of `Accept` that this version answers; the answer always has the agent media type. */
const SERVED = new Set([AGENT_MEDIA_TYPE, 'application/json', 'application/*', '*/*']);

/**
 * A missing `Accept` or a wildcard is v1. What the body may be is the body parsers' matter.
 *
 * @throws AppError `not_acceptable`, which names the versions served
 */
export function requireServedMediaType(request: Pick<FastifyRequest, 'headers'>): void {
  const { accept } = request.headers;
  if (accept === undefined || accept.trim() === '') return;
  const ranges = accept.toLowerCase().split(',').map(parseRange);
  if (ranges.some(({ type, refused }) => SERVED.has(type) && !refused)) return;
  throw new AppError('not_acceptable', `this API answers in ${AGENT_MEDIA_TYPE}; the request does not accept it`, {
    extra: { served: [AGENT_MEDIA_TYPE] },
  });
}

/** `q=0` means "not this" (RFC 9110, section 12.4.2). */
function parseRange(range: string): { readonly type: string; readonly refused: boolean } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  return { type, refused: parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter)) };
}
