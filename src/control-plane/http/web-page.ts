import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HttpServer } from './server.ts';

const FOLDER = fileURLToPath(new URL('../../web', import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Scripts, styles and calls of this origin and nothing else; no frame around it, no form that leaves it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface PageFile {
  readonly body: string;
  readonly mediaType: string;
  readonly tag: string;
}

/**
 * `GET /` and `/assets/…`: the page. Its files are the same for everybody and hold nothing that is anybody's: what it shows
 * it asks the admin API for, with the token of who looks at it.
 */
export function pageRoutes(app: HttpServer): void {
  const files = readPage();
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply
        .header('content-security-policy', POLICY)
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer')
        .header('cache-control', 'no-cache');
    });
    for (const [path, file] of files) {
      scope.get(path, async (request, reply) => {
        reply.header('etag', file.tag);
        if (request.headers['if-none-match'] === file.tag) return await reply.code(304).send();
        return await reply.type(file.mediaType).serializer(asText).send(file.body);
      });
    }
  });
}

const asText = (payload: unknown): string => String(payload);

/** By the path that it is served at. */
function readPage(): ReadonlyMap<string, PageFile> {
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
  const files = names.flatMap((name): [string, PageFile][] => {
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) return [];
    const body = readFileSync(join(FOLDER, name), 'utf8');
    const tag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    return [[name === 'index.html' ? '/' : `/assets/${name}`, { body, mediaType, tag }]];
  });
  return new Map(files);
}
