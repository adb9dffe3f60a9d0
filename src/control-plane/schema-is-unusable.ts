import type { Fault } from '../protocol/app-error.ts';
import { KEYWORDS } from './schema-keywords.ts';
import { SchemaPointers } from './schema-pointers.ts';
import type { JsonSchema } from './values-fit-schema.ts';

/** A schema that stands somewhere in the whole, and the schema with an `$id` around it, where its `#` begins. */
interface Place {
  readonly node: unknown;
  readonly path: string;
  readonly resource: JsonSchema;
}

/** Keywords whose schemas judge the very value that the schema around them judges. */
const IN_PLACE = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies']);

/**
 * What makes a JSON schema of no use, as faults below `/valuesSchema`: a keyword that is not what it must be, which a
 * validator would silently pass over; a reference to what is not in the schema; one that comes back to itself about the same
 * value, which no validator can decide. A schema may refer to itself for members and items, as a tree does.
 *
 * @throws RangeError when it goes too deep
 */
export function schemaIsUnusable(schema: JsonSchema): Fault[] {
  const faults: Fault[] = [];
  const pointers = new SchemaPointers(schema);
  const referred: Place[] = [];
  /** Which schemas judge the same value as this one, and where that is said. */
  const sameValue = new Map<JsonSchema, { readonly to: unknown; readonly path: string }[]>();

  const visit = ({ node, path, resource: outer }: Place): void => {
    if (typeof node === 'boolean') return;
    if (!isSchema(node)) {
      faults.push({ path, message: 'must be a schema: an object, true or false' });
      return;
    }
    if (sameValue.has(node)) return;
    const edges: { readonly to: unknown; readonly path: string }[] = [];
    sameValue.set(node, edges);
    const resource = typeof node['$id'] === 'string' ? node : outer;
    for (const [keyword, value] of Object.entries(node)) {
      const at = `${path}/${escape(keyword)}`;
      const known = KEYWORDS.get(keyword);
      if (known === undefined) continue;
      if (!known.fits(value)) {
        faults.push({ path: at, message: `must be ${known.mustBe}` });
        continue;
      }
      for (const [step, below] of known.schemas?.(value as never) ?? []) {
        visit({ node: below, path: step === undefined ? at : `${at}/${escape(step)}`, resource });
        if (IN_PLACE.has(keyword)) edges.push({ to: below, path: at });
      }
      if (keyword !== '$ref') continue;
      const target = pointers.find(String(value), resource);
      if (target === undefined) {
        const message = `${String(value)} is not in this schema, and nothing outside of it is read; begin it with #/`;
        faults.push({ path: at, message });
        continue;
      }
      edges.push({ to: target.node, path: at });
      referred.push({ ...target, path: at });
    }
  };

  visit({ node: schema, path: '/valuesSchema', resource: schema });
  // After all that has a place of its own, which is told rather than who refers to it.
  for (const target of referred) visit(target);
  return faults.length > 0 ? faults : circles(schema, sameValue);
}

function circles(
  schema: JsonSchema,
  sameValue: ReadonlyMap<JsonSchema, readonly { readonly to: unknown; readonly path: string }[]>,
): Fault[] {
  const faults: Fault[] = [];
  const state = new Map<unknown, 'open' | 'done'>();
  const follow = (node: unknown): void => {
    state.set(node, 'open');
    for (const { to, path } of sameValue.get(node as JsonSchema) ?? []) {
      if (state.get(to) === 'open') {
        const message =
          'leads back to itself about the same value, so it could never be decided; refer to it from below properties or items';
        faults.push({ path, message });
      } else if (!state.has(to)) follow(to);
    }
    state.set(node, 'done');
  };
  for (const node of [schema, ...sameValue.keys()]) if (!state.has(node)) follow(node);
  return faults;
}

function isSchema(node: unknown): node is JsonSchema {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
