import { groupVersion, type Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import type { JsonObject } from './json-value.ts';

/**
 * `/openapi/v2` has a PATCH operation a kind and no schemas. kubectl asks it whether the server validates fields
 * itself and, before 1.27, whether it knows dry runs; without schemas kubectl validates nothing on its own.
 */
const PARAMETERS = ['dryRun', 'fieldValidation'] as const;
const TITLE = 'Kubernetes';
const VERSION = 'v1.32.0-sandbox';

function pathOf(kind: Kind): string {
  const root = kind.group === '' ? '/api' : '/apis';
  return `${root}/${groupVersion(kind)}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}/{name}`;
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
  return { swagger: '2.0', info: { title: TITLE, version: VERSION }, paths, definitions: {} };
}

/** A length-delimited protobuf field. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

function pathItem(kind: Kind): Buffer {
  // ParametersItem.parameter → Parameter.non_body_parameter → NonBodyParameter.query_parameter_sub_schema
  const parameters = PARAMETERS.map((name) => {
    const query = Buffer.concat([field(2, 'query'), field(4, name), field(6, 'string')]);
    return field(8, field(1, field(2, field(3, query))));
  });
  const gvk = `group: ${JSON.stringify(kind.group)}\nkind: ${kind.kind}\nversion: ${kind.version}\n`;
  const extension = Buffer.concat([field(1, 'x-kubernetes-group-version-kind'), field(2, field(2, gvk))]);
  const operation = Buffer.concat([...parameters, field(13, extension)]);
  return Buffer.concat([field(1, pathOf(kind)), field(2, field(8, operation))]);
}

/** The same as a gnostic `openapi.v2.Document`, the one form that kubectl takes. */
export function openApiProtobuf(registry: KindRegistry): Buffer {
  const paths = registry.all().map((kind) => field(2, pathItem(kind)));
  return Buffer.concat([
    field(1, '2.0'),
    field(2, Buffer.concat([field(1, TITLE), field(2, VERSION)])),
    field(8, Buffer.concat(paths)),
  ]);
}
