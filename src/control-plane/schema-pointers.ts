import type { JsonSchema } from './values-fit-schema.ts';

/** Where a `$id` that is not a whole URI begins. It is never called. */
const BASE = 'schema://values/';

interface Target {
  readonly node: unknown;
  /** The schema with an `$id` that it stands in: where `#` begins for it. */
  readonly resource: JsonSchema;
}

/** What the references of one JSON schema name within it. Nothing outside of it is ever read. */
export class SchemaPointers {
  /** Schemas by the URI of their `$id`; the whole is among them. */
  readonly #resources = new Map<string, JsonSchema>();
  readonly #anchors = new Map<JsonSchema, Map<string, JsonSchema>>();
  readonly #uris = new Map<JsonSchema, string>();

  constructor(schema: JsonSchema) {
    this.#enter(schema, BASE);
    this.#collect(schema, schema, BASE);
  }

  /** @param resource the schema with an `$id` that the reference stands in, or the whole */
  find(ref: string, resource: JsonSchema): Target | undefined {
    const [uri, fragment] = splitAtHash(ref);
    const at = uri === '' ? resource : this.#resources.get(resolve(uri, this.#uris.get(resource) ?? BASE) ?? '');
    const name = decode(fragment);
    if (at === undefined || name === undefined) return undefined;
    if (name === '') return { node: at, resource: at };
    const node = name.startsWith('/') ? pointed(at, name) : this.#anchors.get(at)?.get(name);
    return node === undefined ? undefined : { node, resource: at };
  }

  #enter(resource: JsonSchema, base: string): string {
    const id = resource['$id'];
    const uri = typeof id === 'string' ? (resolve(splitAtHash(id)[0], base) ?? base) : base;
    this.#uris.set(resource, uri);
    if (!this.#resources.has(uri)) this.#resources.set(uri, resource);
    this.#anchors.set(resource, new Map());
    return uri;
  }

  #collect(node: unknown, resource: JsonSchema, base: string): void {
    if (typeof node !== 'object' || node === null) return;
    let [within, uri] = [resource, base];
    if (!Array.isArray(node)) {
      const schema = node as JsonSchema;
      if (typeof schema['$id'] === 'string') {
        uri = this.#enter(schema, base);
        within = schema;
      }
      for (const keyword of ['$anchor', '$dynamicAnchor']) {
        const name = schema[keyword];
        if (typeof name === 'string') this.#anchors.get(within)?.set(name, schema);
      }
    }
    for (const [name, below] of Object.entries(node)) {
      if (name !== 'const' && name !== 'enum') this.#collect(below, within, uri);
    }
  }
}

function splitAtHash(ref: string): readonly [string, string] {
  const at = ref.indexOf('#');
  return at === -1 ? [ref, ''] : [ref.slice(0, at), ref.slice(at + 1)];
}

function resolve(uri: string, base: string): string | undefined {
  return URL.canParse(uri, base) ? new URL(uri, base).href : undefined;
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

/** RFC 6901, own members only. */
function pointed(from: unknown, pointer: string): unknown {
  let node = from;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return undefined;
    node = (node as Readonly<Record<string, unknown>>)[name];
  }
  return node;
}
