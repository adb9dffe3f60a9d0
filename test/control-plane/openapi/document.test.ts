import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { apiDocument } from '../../../src/control-plane/http/openapi/api-document.ts';
import type { OpenApiDocument, Operation } from '../../../src/control-plane/http/openapi/openapi.ts';
import { SCOPES } from '../../../src/control-plane/access.ts';
import { ROUTE_SCOPES } from '../../../src/control-plane/http/admin/route-scopes.ts';
import { adminRouteList } from '../../support/admin-route-list.ts';
import { AgentServer } from '../agent/agent-server.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

let document: OpenApiDocument;
let operations: { readonly name: string; readonly operation: Operation }[];

beforeAll(async () => {
  document = await apiDocument();
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
});

/** Of every place in a value that is an object. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const one of Object.values(value)) yield* objectsIn(one);
}

describe('the document', () => {
  it('has every route of both APIs and no other', async () => {
    await using agents = await AgentServer.start();
    await agents.app.ready();
    const inDocument = (route: string): string => route.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}');
    const admin = (await adminRouteList()).map((route) => inDocument(route.replace(' ', ' /api/v1')));
    const others = [...agents.routes, 'GET /install/crds.yaml', 'GET /install/operator.yaml'];
    const expected = [...admin, ...others.map(inDocument), 'POST /webhooks/git/{repositoryId}'];
    expect(operations.map(({ name }) => name).sort()).toEqual([...new Set(expected)].sort());
  });

  it('says of each operation what it is for, under a name that no other has', () => {
    const silent = operations.filter(({ operation: { summary = '', tags = [], operationId = '' } }) => {
      return summary === '' || tags.length !== 1 || !/^[a-z][A-Za-z]+$/.test(operationId);
    });
    expect(silent.map(({ name }) => name)).toEqual([]);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('says how each operation ends well, and which errors it can answer with', () => {
    const statusesOf = ({ operation }: { readonly operation: Operation }): number[] =>
      Object.keys(operation.responses).map(Number);
    const without = operations.filter((one) => !statusesOf(one).some((status) => status >= 200 && status < 300));
    expect(without.map(({ name }) => name)).toEqual([]);
    const unready = operations.filter((one) => ![400, 500, 503].every((status) => statusesOf(one).includes(status)));
    expect(unready.map(({ name }) => name)).toEqual([]);
    const create = document.paths['/api/v1/clusters']?.['post'];
    expect(create?.responses['409']).toEqual({
      description: 'conflict',
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/ErrorAnswer', properties: { error: { enum: ['conflict'] } } },
        },
      },
    });
  });

  it('says what a caller needs: the scope of the admin API, the signature of an agent', () => {
    const scopes = Object.keys(SCOPES);
    const wrong = operations.filter(({ name, operation: { security = [] } }) => {
      if (!name.includes(' /api/v1/')) return false;
      if (security.length === 0) return name !== 'GET /api/v1/login';
      const [method = '', path = ''] = name
        .replaceAll(/\{([^{}]+)\}/g, ':$1')
        .replace('/api/v1', '')
        .split(' ');
      const needed: string = ROUTE_SCOPES[`${method} ${path}`] ?? '';
      // Of whoever is let in nothing more is needed.
      const expected = needed === 'any' ? [] : [needed];
      if (needed !== 'any' && !scopes.includes(needed)) return true;
      return security.some((way) => Object.values(way).some((one) => one.join() !== expected.join()));
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
    expect(document.paths['/api/v1/clusters']?.['post']?.security).toEqual([
      { adminToken: ['clusters'] },
      { oidc: ['clusters'] },
    ]);
    expect(document.paths['/api/agent/events']?.['post']?.security).toEqual([{ agentToken: [], agentSignature: [] }]);
    expect(document.paths['/healthz']?.['get']?.security).toEqual([]);
    const named = operations.flatMap(({ operation: { security = [] } }) => security.flatMap((way) => Object.keys(way)));
    expect([...new Set(named)].filter((name) => !(name in document.components.securitySchemes))).toEqual([]);
  });

  it('says which headers an operation reads: tags where there are tags, keys of what is carried out once', () => {
    const headersOf = (path: string, method: string): string[] =>
      (document.paths[path]?.[method]?.parameters ?? []).filter((one) => one.in === 'header').map(({ name }) => name);
    expect(headersOf('/api/v1/clusters/{cluster}', 'get')).toEqual(['Service-Organization', 'If-None-Match']);
    expect(headersOf('/api/v1/clusters/{cluster}', 'patch')).toEqual(['Service-Organization', 'If-Match']);
    expect(headersOf('/api/v1/clusters', 'post')).toEqual(['Service-Organization', 'Idempotency-Key']);
    expect(headersOf('/api/agent/events', 'post')).toEqual([]);
  });

  it('is OpenAPI 3.1: every parameter of a path is declared, and every reference leads somewhere', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    const undeclared = operations.filter(({ name, operation: { parameters = [] } }) => {
      const inPath = [...name.matchAll(/\{([^{}]+)\}/g)].map(([, parameter = '']) => parameter);
      const declared = parameters.filter((one) => one.in === 'path').map((one) => one.name);
      return inPath.toSorted().join() !== declared.toSorted().join();
    });
    expect(undeclared.map(({ name }) => name)).toEqual([]);
    const prefix = '#/components/schemas/';
    const references = [...objectsIn(document)].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));
    expect(references.length).toBeGreaterThan(100);
    const dangling = references.filter((one) => !(one.slice(prefix.length) in document.components.schemas));
    expect(dangling).toEqual([]);
    expect(references.filter((one) => !one.startsWith(prefix))).toEqual([]);
  });

  it('lists what an answer holds, and nothing may be besides', () => {
    const open = [...objectsIn(document.components.schemas)].filter(
      (schema) => schema['type'] === 'object' && 'properties' in schema && schema['additionalProperties'] === undefined,
    );
    expect(open).toEqual([]);
  });
});

describe('GET /openapi.json', () => {
  it('is the document of the server that answers, for everybody', async () => {
    await using plane = await RunningControlPlane.start();
    const answer = await fetch(`${plane.url}/openapi.json`);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it('is made once, and not sent again to whoever has it', async () => {
    await using agents = await AgentServer.start();
    const first = await agents.app.inject({ method: 'GET', url: '/openapi.json' });
    const tag = String(first.headers.etag);
    const again = await agents.app.inject({ method: 'GET', url: '/openapi.json', headers: { 'if-none-match': tag } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    const headers = { 'accept-encoding': 'gzip' };
    const small = await agents.app.inject({ method: 'GET', url: '/openapi.json', headers });
    expect(gunzipSync(small.rawPayload).toString()).toBe(first.body);
    expect(agents.app.openApiDocument()).toBe(agents.app.openApiDocument());
  });
});
