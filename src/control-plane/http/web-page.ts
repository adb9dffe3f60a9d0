import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import type { OidcSignIn } from '../oidc/oidc-sign-in.ts';
import type { HttpServer } from './server.ts';

/** What `npm run build:web` makes of `src/web`. */
const FOLDER = fileURLToPath(new URL('../../../dist-web', import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Scripts and styles of this origin and nothing else; no frame around it, no form that leaves it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page waits no longer for an identity provider that does not answer. */
const PROVIDER_MS = 1000;

/** The names of assets hold the hash of what is in them. */
const FOR_EVER = 'public, max-age=31536000, immutable';

interface PageFile {
  readonly body: Buffer;
  readonly compressed: Buffer;
  readonly mediaType: string;
  readonly tag: string;
}

export interface PageDeps {
  /** Absent: nobody signs in by an identity provider. */
  readonly oidc: Pick<OidcSignIn, 'config' | 'metadata'> | undefined;
  readonly clock: Clock;
}

/**
 * `GET /` and `/assets/…`: the page. Its files are the same for everybody and hold nothing that is anybody's: what it shows
 * it asks the admin API for, with the token of who looks at it.
 */
export function pageRoutes(app: HttpServer, deps: PageDeps): void {
  const files = readPage();
  app.register(async (scope: HttpServer) => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply
        .header('content-security-policy', `${POLICY}; connect-src ${(await connectsTo(deps)).join(' ')}`)
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer');
    });
    if (files.size === 0) scope.get('/', { schema: { hide: true } }, async (_request, reply) => await notBuilt(reply));
    for (const [path, file] of files) {
      const lifetime = path === '/' ? 'no-cache' : FOR_EVER;
      scope.get(path, { schema: { hide: true } }, async (request, reply) => {
        reply.header('cache-control', lifetime);
        return await send(request, reply, file);
      });
    }
  });
}

/**
 * Where the page may call: here, and where an identity provider changes a code for a token. While that is not known it is the
 * issuer's own address: the page is loaded again when somebody comes back from there.
 */
async function connectsTo({ oidc, clock }: PageDeps): Promise<readonly string[]> {
  if (oidc === undefined) return ["'self'"];
  const issuer = new URL(oidc.config.issuer).origin;
  const enough = new AbortController();
  const late = clock.sleep(PROVIDER_MS, enough.signal).then(
    () => issuer,
    () => issuer,
  );
  const known = oidc.metadata().then(
    ({ token_endpoint: endpoint }) => new URL(endpoint).origin,
    () => issuer,
  );
  const provider = await Promise.race([known, late]);
  enough.abort(new Error('it is known'));
  return ["'self'", provider];
}

async function send(request: FastifyRequest, reply: FastifyReply, file: PageFile): Promise<FastifyReply> {
  reply.header('etag', file.tag).header('vary', 'accept-encoding');
  if (request.headers['if-none-match'] === file.tag) return await reply.code(304).send();
  reply.type(file.mediaType);
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return await reply.send(file.body);
  return await reply.header('content-encoding', 'gzip').send(file.compressed);
}

async function notBuilt(reply: FastifyReply): Promise<FastifyReply> {
  return await reply
    .code(503)
    .type('text/plain; charset=utf-8')
    .send('The page is not built. Run: npm run build:web\n');
}

/** By the path that it is served at. */
function readPage(): ReadonlyMap<string, PageFile> {
  if (!existsSync(FOLDER)) return new Map();
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
  const files = names.flatMap((name): [string, PageFile][] => {
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) return [];
    const body = readFileSync(join(FOLDER, name));
    const tag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    return [[name === 'index.html' ? '/' : `/${name}`, { body, compressed: gzipSync(body), mediaType, tag }]];
  });
  return new Map(files);
}
