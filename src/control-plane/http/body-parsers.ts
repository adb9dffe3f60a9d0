import type { FastifyInstance } from 'fastify';
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
    async (_request: unknown, bytes: Buffer) => (bytes.length === 0 ? undefined : parseStrictJson(bytes)),
  );
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => {
    // An empty body has no type, whatever the header says.
    if (bytes.length === 0) return undefined;
    throw new AppError('unsupported_media_type', `the body must be application/json or ${AGENT_MEDIA_TYPE}`);
  });
}
