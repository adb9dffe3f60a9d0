import { isObject, valueAt, type Path } from './pointer.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

interface FieldBase {
  readonly path: Path;
  readonly title: string;
  readonly description?: string;
  readonly isRequired: boolean;
  /** What holds where nothing is given. */
  readonly fallback?: unknown;
}

export interface ObjectField extends FieldBase {
  readonly kind: 'object';
  readonly fields: readonly Field[];
  /** Members beside `fields` may be given, as text. */
  readonly takesMore: boolean;
}
export interface ArrayField extends FieldBase {
  readonly kind: 'array';
  readonly items: JsonSchema;
  readonly maxItems?: number;
}
export interface TextField extends FieldBase {
  readonly kind: 'text';
  readonly maxLength?: number;
  readonly hint?: string;
  /** It goes with the secret values and is never shown. */
  readonly isSecret: boolean;
}
export interface NumberField extends FieldBase {
  readonly kind: 'number';
  readonly isInteger: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}
export interface ChoiceField extends FieldBase {
  readonly kind: 'choice';
  readonly choices: readonly unknown[];
}
/** Whatever a form has no field for: written as YAML. */
export interface YamlField extends FieldBase {
  readonly kind: 'yaml';
}
export type Field = ObjectField | ArrayField | TextField | NumberField | ChoiceField | YamlField;

export interface FieldInputs {
  /** Holds what `$ref` names. */
  readonly root: JsonSchema;
  /** What holds where nothing is given, before what the schema says. */
  readonly fallbacks?: unknown;
}

/** Deeper places are written as YAML. */
const MAX_DEPTH = 8;

/** Fields that one form has; an object whose members would be more than are left is written as YAML. */
const MAX_FIELDS = 300;

/** What of a schema was walked on the way to a place. */
interface Walk {
  /** `$ref`s that the place stands in: one that comes again has no end. */
  readonly refs: ReadonlySet<string>;
  /** Fields that the form may still have, wherever. */
  readonly budget: { left: number };
}

/** The field of a place by its schema. */
export function fieldOf(schema: unknown, path: Path, inputs: FieldInputs, isRequired = false): Field {
  return walk(schema, path, inputs, isRequired, { refs: new Set(), budget: { left: MAX_FIELDS } });
}

function walk(schema: unknown, path: Path, inputs: FieldInputs, isRequired: boolean, way: Walk): Field {
  const { found: resolved, refs } = resolve(schema, inputs.root, way.refs);
  const base = baseOf(resolved, path, inputs, isRequired);
  if (resolved === undefined || path.length > MAX_DEPTH) return { kind: 'yaml', ...base };
  if (Array.isArray(resolved['enum'])) return { kind: 'choice', choices: resolved['enum'], ...base };
  if (['anyOf', 'oneOf', 'allOf', 'if'].some((keyword) => keyword in resolved)) return { kind: 'yaml', ...base };
  switch (typeOf(resolved)) {
    case 'object':
      return objectField(resolved, base, inputs, { ...way, refs });
    case 'array':
      return {
        kind: 'array',
        items: isObject(resolved['items']) ? resolved['items'] : {},
        ...ifNumber('maxItems', resolved['maxItems']),
        ...base,
      };
    case 'string':
      return {
        kind: 'text',
        isSecret: resolved['writeOnly'] === true || resolved['format'] === 'password',
        ...ifNumber('maxLength', resolved['maxLength']),
        ...(typeof resolved['pattern'] === 'string' ? { hint: `must match ${resolved['pattern']}` } : {}),
        ...base,
      };
    case 'integer':
    case 'number':
      return {
        kind: 'number',
        isInteger: typeOf(resolved) === 'integer',
        ...ifNumber('minimum', resolved['minimum']),
        ...ifNumber('maximum', resolved['maximum']),
        ...base,
      };
    case 'boolean':
      return { kind: 'choice', choices: [true, false], ...base };
    default:
      return { kind: 'yaml', ...base };
  }
}

function objectField(schema: JsonSchema, base: FieldBase, inputs: FieldInputs, way: Walk): ObjectField | YamlField {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  if (properties.length === 0 || properties.length > way.budget.left) return { kind: 'yaml', ...base };
  way.budget.left -= properties.length;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const fields = properties.map(([name, one]) => walk(one, [...base.path, name], inputs, required.includes(name), way));
  return { kind: 'object', fields, takesMore: schema['additionalProperties'] !== false, ...base };
}

function baseOf(schema: JsonSchema | undefined, path: Path, inputs: FieldInputs, isRequired: boolean): FieldBase {
  const fallback = valueAt(inputs.fallbacks, path) ?? schema?.['default'];
  const { title, description } = schema ?? {};
  const last = path.at(-1);
  return {
    path,
    title: typeof title === 'string' ? title : typeof last === 'number' ? `${last + 1}` : (last ?? 'Values'),
    ...(typeof description === 'string' ? { description } : {}),
    isRequired,
    ...(fallback === undefined ? {} : { fallback }),
  };
}

/** The type, but for null: a field that is empty is not given. */
function typeOf({ type, properties }: JsonSchema): unknown {
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null' && one !== undefined);
  if (types.length === 0 && isObject(properties)) return 'object';
  return types.length === 1 ? types[0] : undefined;
}

/** Follows `$ref` inside the document; undefined where it leads nowhere, or to what the place stands in already. */
function resolve(
  schema: unknown,
  root: JsonSchema,
  before: ReadonlySet<string>,
): { readonly found: JsonSchema | undefined; readonly refs: ReadonlySet<string> } {
  const refs = new Set(before);
  let found = schema;
  for (;;) {
    if (!isObject(found)) return { found: found === true ? {} : undefined, refs };
    const ref = found['$ref'];
    if (ref === undefined) return { found, refs };
    if (typeof ref !== 'string' || !ref.startsWith('#') || refs.has(ref)) return { found: undefined, refs };
    refs.add(ref);
    const target = valueAt(root, stepsOf(ref));
    const { $ref: _ref, ...beside } = found;
    found = isObject(target) ? { ...target, ...beside } : target;
  }
}

function stepsOf(ref: string): string[] {
  const steps = ref.slice(1).split('/').slice(1);
  return steps.map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function ifNumber<Name extends string>(name: Name, value: unknown): { readonly [_ in Name]?: number } {
  return (typeof value === 'number' ? { [name]: value } : {}) as { readonly [_ in Name]?: number };
}
