import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../protocol/app-error.ts';
import { AGENT_MEDIA_TYPE } from '../../../protocol/media-type.ts';

/** Ranges of `Accept` that the answer, which always has the agent media type, is in; the most specific first. */
const RANGES = [AGENT_MEDIA_TYPE, 'application/*', '*/*'];
/** Clients that know no agent media type read it as what it is. */
const ALIAS = 'application/json';

/**
 * A missing `Accept` or a wildcard is v1. What the body may be is the body parsers' matter.
 *
 * @throws AppError `not_acceptable`, which names the versions served
 */
export function requireServedMediaType(request: Pick<FastifyRequest, 'headers'>): void {
  const { accept } = request.headers;
  if (accept === undefined || accept.trim() === '') return;
  const ranges = accept.toLowerCase().split(',').map(parseRange);
  if (accepts(ranges)) return;
  throw new AppError('not_acceptable', `this API answers in ${AGENT_MEDIA_TYPE}; the request does not accept it`, {
    extra: { served: [AGENT_MEDIA_TYPE] },
  });
}

/** Of the ranges that an answer is in the most specific one counts (RFC 9110, section 12.5.1). */
function accepts(ranges: readonly Range[]): boolean {
  const own = ranges.filter(({ type }) => type === AGENT_MEDIA_TYPE);
  if (own.length === 0 && ranges.some(({ type, refused }) => type === ALIAS && !refused)) return true;
  const specific = RANGES.find((range) => ranges.some(({ type }) => type === range));
  return ranges.some(({ type, refused }) => type === specific && !refused);
}

interface Range {
  readonly type: string;
  readonly refused: boolean;
}

/** `q=0` means "not this" (RFC 9110, section 12.4.2). */
function parseRange(range: string): Range {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  return { type, refused: parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter)) };
}
