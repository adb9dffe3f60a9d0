import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import swagger from '@fastify/swagger';
import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { PROJECT_VERSION } from '../../../runtime/project-version.ts';
import type { HttpServer } from '../server.ts';
import { answers, ErrorAnswer } from './answers.ts';
import { describeOperation, errorsOf, SECURITY_SCHEMES } from './describe-operation.ts';
import type { ApiResponse } from './error-responses.ts';
import { nameSchemas, strictly } from './name-schemas.ts';

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
}

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
}

export type Content = Readonly<Record<string, { readonly schema: object }>>;

const INFO = {
  title: 'Service control plane',
  version: PROJECT_VERSION,
  description:
    'The admin API below /api/v1, which servicectl and the page use, and the agent API below /api/agent, which operators use.',
};

declare module 'fastify' {
  interface FastifyInstance {
    /** The document of every route, once the server is ready. */
    readonly openApiDocument: () => OpenApiDocument;
  }
}

/**
 * `GET /openapi.json`: the document of the routes that are added after this, made from their own schemas when the server is
 * ready, and sent as it then is. A route with `hide: true` in its schema is no part of the API.
 */
export function openApiRoute(app: HttpServer): void {
  app.register(swagger, {
    openapi: { openapi: '3.1.1', info: INFO, components: { securitySchemes: { ...SECURITY_SCHEMES } } },
    convertConstToEnum: false,
    transform: ({ schema, url, route: { method } }) => ({ schema: describeOperation(method, url, schema), url }),
    transformObject: (document) => ('openapiObject' in document ? finished(document.openapiObject) : {}) as never,
  });
  const documentOf = (): OpenApiDocument => app.swagger() as unknown as OpenApiDocument;
  app.decorate('openApiDocument', documentOf);
  app.register(async (scope: HttpServer) => {
    let file: ReturnType<typeof asFile> | undefined;
    let compressed: Buffer | undefined;
    scope.addHook('onReady', async () => {
      file = asFile(documentOf());
    });
    scope.get('/openapi.json', { schema: OWN_SCHEMA }, async (request, reply) => {
      if (file === undefined) throw new Error('the server is not ready');
      reply.header('etag', file.tag).header('cache-control', 'no-cache').header('vary', 'accept-encoding');
      if (request.headers['if-none-match'] === file.tag) return await reply.code(304).send();
      reply.type('application/json');
      if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return await reply.send(file.body);
      compressed ??= gzipSync(file.body);
      return await reply.header('content-encoding', 'gzip').send(compressed);
    });
  });
}

const OWN_SCHEMA = {
  tags: ['meta'],
  operationId: 'getOpenApiDocument',
  summary: 'This document',
  response: answers({
    200: Type.Record(Type.String(), Type.Unknown(), { description: 'OpenAPI 3.1' }),
    304: Type.Null({ description: 'It is what If-None-Match names.' }),
  }),
} satisfies FastifySchema;

function asFile(document: OpenApiDocument) {
  const body = Buffer.from(JSON.stringify(document));
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { body, tag };
}

/** What the framework made, with the schemas that have names moved to one place, and answers strict. */
function finished(made: object): OpenApiDocument {
  const document = made as OpenApiDocument & { paths: Record<string, Record<string, Operation>> };
  const named = new Map<string, Record<string, unknown>>();
  nameSchemas(strictly(JSON.parse(JSON.stringify(ErrorAnswer))), named);
  const paths = Object.fromEntries(
    Object.entries(document.paths)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, item]) => [
        path,
        Object.fromEntries(
          Object.entries(item).map(([verb, one]) => [
            verb,
            finishedOperation(one, errorsOf(verb, path, one.requestBody !== undefined), named),
          ]),
        ),
      ]),
  );
  const schemas = Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...document, paths, components: { ...document.components, schemas } };
}

function finishedOperation(
  operation: Operation,
  errors: Readonly<Record<string, ApiResponse>>,
  named: Map<string, Record<string, unknown>>,
): Operation {
  const responses = Object.fromEntries(
    Object.entries(operation.responses).map(([status, { content, ...response }]) => [
      status,
      content === undefined ? response : { ...response, content: nameSchemas(strictly(content), named) as Content },
    ]),
  );
  const { requestBody } = operation;
  return {
    ...operation,
    ...(requestBody === undefined ? {} : { requestBody: nameSchemas(requestBody, named) as typeof requestBody }),
    responses: { ...errors, ...responses },
  };
}
