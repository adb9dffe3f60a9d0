import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import swagger from '@fastify/swagger';
import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { PROJECT_VERSION } from '../../../runtime/project-version.ts';
import type { HttpServer } from '../server.ts';
import { answers } from './answers.ts';
import { describeOperation, responsesOf, SECURITY_SCHEMES } from './describe-operation.ts';
import type { ApiResponse } from './error-responses.ts';
import { headerParameters } from './header-parameters.ts';
import { addAll } from './name-schemas.ts';
import type { NamedResponses } from './responses.ts';

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
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: object;
  }[];
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
 * `GET /openapi.json`: the document of the routes that are added after this, made from their own schemas when it is first
 * asked for (a start does not wait for it), and sent as it then is. A route with `hide: true` in its schema is no part of
 * the API.
 */
export function openApiRoute(app: HttpServer): void {
  const answersOf = new Map<string, NamedResponses>();
  app.register(swagger, {
    openapi: { openapi: '3.1.1', info: INFO, components: { securitySchemes: { ...SECURITY_SCHEMES } } },
    convertConstToEnum: false,
    transform: ({ schema, url, route: { method } }) => {
      // As the document writes parameters.
      const path = url.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}');
      if (schema?.hide !== true) {
        for (const verb of [method].flat()) answersOf.set(`${verb} ${path}`, responsesOf(verb, url, schema));
      }
      return { schema: describeOperation(method, url, schema), url };
    },
    transformObject: (document) =>
      ('openapiObject' in document ? finished(document.openapiObject, answersOf) : {}) as never,
  });
  const documentOf = (): OpenApiDocument => app.swagger() as unknown as OpenApiDocument;
  app.decorate('openApiDocument', documentOf);
  app.register(async (scope: HttpServer) => {
    let file: ReturnType<typeof asFile> | undefined;
    let compressed: Buffer | undefined;
    scope.get('/openapi.json', { schema: OWN_SCHEMA }, async (request, reply) => {
      file ??= asFile(documentOf());
      reply.header('etag', file.tag).header('cache-control', 'no-cache').header('vary', 'accept-encoding');
      // Of tags with commas between them, weak ones too.
      if (request.headers['if-none-match']?.includes(file.tag) === true) return await reply.code(304).send();
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

/** What the framework made, with the answers of each operation. */
function finished(made: object, answersOf: ReadonlyMap<string, NamedResponses>): OpenApiDocument {
  const document = made as OpenApiDocument;
  const components = new Map<string, Readonly<Record<string, unknown>>>();
  const paths = byName(document.paths).map(([path, item]) => {
    const operations = mapValues(item, (operation, method) => {
      const answered = answersOf.get(`${method.toUpperCase()} ${path}`);
      if (answered === undefined) throw new Error(`${method} ${path} is in the document and is no route`);
      addAll(components, answered.components);
      return { ...operation, responses: answered.responses };
    });
    const withHeaders = mapValues(operations, ({ parameters = [], ...operation }, method) => {
      return { ...operation, parameters: [...parameters, ...headerParameters(path, method, operations)] };
    });
    return [path, withHeaders] as const;
  });
  const schemas = Object.fromEntries(byName(Object.fromEntries(components)));
  return { ...document, paths: Object.fromEntries(paths), components: { ...document.components, schemas } };
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, change: (value: T, key: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

function byName<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}
