import { groupVersion, type Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import type { JsonObject } from './json-value.ts';
import { protobufField } from './protobuf-field.ts';
import { definitionName, publishedDefinition } from './schema/published-schema.ts';
import { namedSchemas } from './schema/schema-protobuf.ts';

/**
 * `/openapi/v2` has a PATCH operation a kind, and the schemas of custom kinds. kubectl asks it, before 1.27, whether
 * the server knows dry runs, and whether it validates fields itself: like the 1.20 server it does not, so that
 * kubectl holds manifests to the schemas here before it sends them.
 */
const PARAMETERS = ['dryRun'] as const;
const TITLE = 'Kubernetes';
const VERSION = 'v1.32.0-sandbox';

function pathOf(kind: Kind): string {
  const root = kind.group === '' ? '/api' : '/apis';
  return `${root}/${groupVersion(kind)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}/{name}`;
}

function definitionsOf(registry: KindRegistry): JsonObject {
  const definitions: JsonObject = {};
  for (const kind of registry.all()) {
    const definition = publishedDefinition(kind);
    if (definition !== undefined) definitions[definitionName(kind)] = definition;
  }
  return definitions;
}

export function openApiJson(registry: KindRegistry): JsonObject {
  const paths: JsonObject = {};
  for (const kind of registry.all()) {
    paths[pathOf(kind)] = {
      patch: {
        parameters: PARAMETERS.map((name) => ({ name, in: 'query', type: 'string', uniqueItems: true })),
        responses: { 200: { description: 'OK' } },
        'x-kubernetes-action': 'patch',
        'x-kubernetes-group-version-kind': { group: kind.group, kind: kind.kind, version: kind.version },
      },
    };
  }
  return { swagger: '2.0', info: { title: TITLE, version: VERSION }, paths, definitions: definitionsOf(registry) };
}

function pathItem(kind: Kind): Buffer {
  // ParametersItem.parameter → Parameter.non_body_parameter → NonBodyParameter.query_parameter_sub_schema
  const parameters = PARAMETERS.map((name) => {
    const query = Buffer.concat([protobufField(2, 'query'), protobufField(4, name), protobufField(6, 'string')]);
    return protobufField(8, protobufField(1, protobufField(2, protobufField(3, query))));
  });
  const gvk = `group: ${JSON.stringify(kind.group)}\nkind: ${kind.kind}\nversion: ${kind.version}\n`;
  const extension = Buffer.concat([
    protobufField(1, 'x-kubernetes-group-version-kind'),
    protobufField(2, protobufField(2, gvk)),
  ]);
  const operation = Buffer.concat([...parameters, protobufField(13, extension)]);
  return Buffer.concat([protobufField(1, pathOf(kind)), protobufField(2, protobufField(8, operation))]);
}

/** The same as a gnostic `openapi.v2.Document`, the one form that kubectl takes. */
export function openApiProtobuf(registry: KindRegistry): Buffer {
  const paths = registry.all().map((kind) => protobufField(2, pathItem(kind)));
  return Buffer.concat([
    protobufField(1, '2.0'),
    protobufField(2, Buffer.concat([protobufField(1, TITLE), protobufField(2, VERSION)])),
    protobufField(8, Buffer.concat(paths)),
    protobufField(9, namedSchemas(definitionsOf(registry))),
  ]);
}
