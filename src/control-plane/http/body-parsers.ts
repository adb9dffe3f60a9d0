import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../protocol/app-error.ts';
import { AGENT_MEDIA_TYPE } from '../../protocol/media-type.ts';
import { parseStrictJson } from '../../protocol/strict-json.ts';

/** Reads JSON so that every reader sees the same value (duplicate keys and lone surrogates are refused), and nothing else. */
export function readBodiesStrictly(
  app: Pick<FastifyInstance, 'removeAllContentTypeParsers' | 'addContentTypeParser'>,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    ['application/json', AGENT_MEDIA_TYPE],
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (bytes.length === 0) return undefined;
      refuseEncoded(request.headers['content-encoding']);
      return parseStrictJson(bytes);
    },
  );
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => {
    // An empty body has no type, whatever the header says.
    if (bytes.length === 0) return undefined;
    throw new AppError('unsupported_media_type', `the body must be application/json or ${AGENT_MEDIA_TYPE}`);
  });
}

/** `type/subtype`, whatever its parameters are (RFC 9110, section 8.3.1). */
const MEDIA_TYPE = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;

/**
 * A `Content-Type` that is empty or broken becomes the one that says nothing: the framework would refuse it before it is
 * known whether there is a body, and that of an empty body is not looked at.
 */
export function overlookBrokenMediaType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type !== undefined && !MEDIA_TYPE.test(type)) headers['content-type'] = 'application/octet-stream';
}

/** Nothing is inflated: what a body takes is what was sent. */
function refuseEncoded(encoding: string | undefined): void {
  if (encoding === undefined || /^(identity)?$/i.test(encoding.trim())) return;
  throw new AppError('unsupported_media_type', 'the body must be sent as it is, without a Content-Encoding');
}
