import type { KubeObject } from '../resources/kube-object.ts';
import type { JsonObject } from './json-value.ts';
import type { Kind } from './kind.ts';

/** What the client wants objects rendered as. */
export interface Rendering {
  readonly as: 'object' | 'table' | 'metadata';
  /** How much of each object a table row carries. */
  readonly includeObject: 'None' | 'Metadata' | 'Object';
}

const TABLE = /application\/json\s*;(?=[^,]*as=Table)(?=[^,]*v=v1(?:[;,\s]|$))[^,]*/;
const METADATA = /application\/json\s*;(?=[^,]*as=PartialObjectMetadata(?:List)?)[^,]*/;

/** From `Accept` and `?includeObject=`. What is not known is answered as plain objects, which every client takes too. */
export function renderingOf(accept: string, query: URLSearchParams): Rendering {
  const wanted = query.get('includeObject');
  const includeObject = wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
  if (TABLE.test(accept)) return { as: 'table', includeObject };
  return { as: METADATA.test(accept) ? 'metadata' : 'object', includeObject };
}

export function partialMetadata(object: KubeObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

/**
 * `meta.k8s.io/v1` Table, what `kubectl get` prints.
 *
 * @param headers false after the first event of a watch, as the real server does
 */
export function tableOf(
  kind: Kind,
  objects: readonly KubeObject[],
  options: {
    readonly includeObject: Rendering['includeObject'];
    readonly now: Date;
    readonly metadata: JsonObject;
    readonly headers: boolean;
  },
): JsonObject {
  const columnDefinitions = kind.columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? '',
    description,
    priority,
  }));
  const shown = (object: KubeObject): JsonObject => {
    if (options.includeObject === 'None') return {};
    return { object: options.includeObject === 'Object' ? object : partialMetadata(object) };
  };
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata,
    columnDefinitions: options.headers ? columnDefinitions : null,
    rows: objects.map((object) => ({
      cells: kind.columns.map((column) => column.value(object, options.now) ?? null),
      ...shown(object),
    })),
  };
}
