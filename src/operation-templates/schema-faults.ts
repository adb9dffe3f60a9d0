import { Errors } from 'typebox/schema';
import type { Fault } from '../protocol/app-error.ts';
import { listedValues } from '../protocol/listed-values.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';

/** Of the whole schema, in bytes of its JSON. */
export const MAX_SCHEMA_BYTES = 32 * 1024;
/** Schemas inside each other; the root is the first. */
export const MAX_SCHEMA_DEPTH = 8;
const MAX_PROPERTIES = 100;
const MAX_ENUM = 100;

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean'] as const;
type TypeName = (typeof TYPES)[number];

/** A name that a shell, a path of a fault and a template can hold as it is. */
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,62}$/;
/** Members that every object has: a value under such a name is read as something else sooner or later. */
const NOT_NAMES: readonly string[] = ['prototype', ...Object.getOwnPropertyNames(Object.prototype)];

interface At {
  readonly node: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly depth: number;
}
/** What is wrong with the value of a keyword; nothing: it can be used. */
type Keyword = (value: unknown, at: At) => readonly Fault[];

const count: Keyword = (value, { path }) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? [] : [fault(path, 'must be a whole number from 0')];
const number: Keyword = (value, { path }) =>
  typeof value === 'number' && Number.isFinite(value) ? [] : [fault(path, 'must be a number')];
const text: Keyword = (value, { path }) => (typeof value === 'string' ? [] : [fault(path, 'must be a text')]);

/** Every keyword that there is, with the types that it says something of; none: of any. */
const KEYWORDS: Readonly<Record<string, { readonly of?: readonly TypeName[]; readonly judge: Keyword }>> = {
  type: { judge: () => [] },
  title: { judge: text },
  description: { judge: text },
  default: { judge: defaultFaults },
  enum: { judge: enumFaults },
  const: { judge: valueFaults },
  minimum: { of: ['integer', 'number'], judge: number },
  maximum: { of: ['integer', 'number'], judge: number },
  minLength: { of: ['string'], judge: count },
  maxLength: { of: ['string'], judge: count },
  minItems: { of: ['array'], judge: count },
  maxItems: { of: ['array'], judge: count },
  uniqueItems: { of: ['array'], judge: boolean },
  items: { of: ['array'], judge: (value, { path, depth }) => nodeFaults(value, path, depth + 1) },
  properties: { of: ['object'], judge: propertyFaults },
  required: { of: ['object'], judge: requiredFaults },
  additionalProperties: {
    of: ['object'],
    judge: (value, { path, depth }) => (typeof value === 'boolean' ? [] : nodeFaults(value, path, depth + 1)),
  },
};

/**
 * Everything that keeps a JSON schema from being one of the parameters of an operation template. It is a part of JSON Schema
 * 2020-12 that is judged in time linear to the value, and that says of each value in one place what is wrong with it: no
 * patterns, references or combinations of schemas.
 *
 * @param path where the schema stands, such as `/parameters`
 */
export function schemaFaults(schema: unknown, path: string): Fault[] {
  const bytes = Buffer.byteLength(JSON.stringify(schema) ?? '', 'utf8');
  if (bytes > MAX_SCHEMA_BYTES) {
    return [fault(path, `has ${bytes} bytes as JSON; at most ${MAX_SCHEMA_BYTES} are allowed`)];
  }
  if (!isMapping(schema)) return [fault(path, 'must be a JSON schema, a mapping')];
  const faults = schema['type'] === 'object' ? [] : [fault(`${path}/type`, 'must be object', ['object'])];
  return [...faults, ...nodeFaults(schema['type'] === 'object' ? schema : { ...schema, type: 'object' }, path, 1)];
}

function nodeFaults(node: unknown, path: string, depth: number): Fault[] {
  if (!isMapping(node)) return [fault(path, 'must be a JSON schema, a mapping')];
  if (depth > MAX_SCHEMA_DEPTH) return [fault(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} schemas`)];
  const { type } = node;
  const isTyped = TYPES.some((known) => known === type);
  const faults = isTyped
    ? []
    : [fault(`${path}/type`, type === undefined ? 'is required' : `must be one of ${TYPES.join(', ')}`, TYPES)];
  const known = Object.keys(KEYWORDS);
  const own = Object.entries(node).flatMap(([name, value]): readonly Fault[] => {
    const at = `${path}/${escape(name)}`;
    const keyword = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined;
    if (keyword === undefined) {
      return [fault(at, `is not in the part of JSON Schema that is taken here: ${known.join(', ')}`, known)];
    }
    if (isTyped && keyword.of !== undefined && !keyword.of.some((one) => one === type)) {
      return [fault(at, `says nothing of type ${String(type)}`, keyword.of)];
    }
    return keyword.judge(value, { node, path: at, depth });
  });
  const all = [...faults, ...own, ...rangeFaults(node, path)];
  return all.length > 0 ? all : deadValueFaults(node, path);
}

/** Values that are listed and that the rest of the same schema refuses. */
function deadValueFaults(node: Readonly<Record<string, unknown>>, path: string): Fault[] {
  const { enum: values, const: constant, default: _default, ...limits } = node;
  const refused = (schema: Readonly<Record<string, unknown>>, value: unknown, at: string): Fault[] => {
    const [isFitting, errors] = Errors(schema, value);
    const [first] = isFitting ? [] : faultsOf(errors, schema);
    return first === undefined
      ? []
      : [fault(`${path}/${at}`, `fits nothing, as beside it stands that it ${first.message}`)];
  };
  const listed = Array.isArray(values) ? (values as readonly unknown[]) : undefined;
  return [
    ...(listed ?? []).flatMap((value, index) => refused(limits, value, `enum/${index}`)),
    ...(constant === undefined ? [] : refused({ ...limits, ...(listed && { enum: listed }) }, constant, 'const')),
  ];
}

/** A range that nothing is in would make every operation fail. */
function rangeFaults(node: Readonly<Record<string, unknown>>, path: string): Fault[] {
  const pairs = [
    ['minimum', 'maximum'],
    ['minLength', 'maxLength'],
    ['minItems', 'maxItems'],
  ] as const;
  return pairs.flatMap(([low, high]) => {
    const { [low]: from, [high]: to } = node;
    if (typeof from !== 'number' || typeof to !== 'number') return [];
    if (from > to) return [fault(`${path}/${low}`, `is more than ${high}, so that nothing fits`)];
    const isEmpty = node['type'] === 'integer' && Math.ceil(from) > Math.floor(to);
    return isEmpty ? [fault(`${path}/${low}`, `has no whole number between it and ${high}`)] : [];
  });
}

function boolean(value: unknown, { path }: At): Fault[] {
  return typeof value === 'boolean' ? [] : [fault(path, 'must be true or false')];
}

function propertyFaults(value: unknown, { path, depth }: At): Fault[] {
  if (!isMapping(value)) return [fault(path, 'must be a mapping of names to schemas')];
  const entries = Object.entries(value);
  if (entries.length > MAX_PROPERTIES) {
    return [fault(path, `has ${entries.length} members; at most ${MAX_PROPERTIES} are allowed`)];
  }
  return entries.flatMap(([name, node]) => {
    const at = `${path}/${escape(name)}`;
    if (!NAME.test(name) || NOT_NAMES.includes(name)) {
      const letters = "a name of letters, digits, '_', '.' and '-', at most 63, starting with a letter";
      return [fault(at, `must have ${letters}, and none that every object has, such as constructor`)];
    }
    return nodeFaults(node, at, depth + 1);
  });
}

function requiredFaults(value: unknown, { node, path }: At): Fault[] {
  if (!Array.isArray(value)) return [fault(path, 'must be a list of names')];
  const known = isMapping(node['properties']) ? Object.keys(node['properties']) : [];
  const { text: names, values } = listedValues(known);
  return value.flatMap((name: unknown, index) =>
    typeof name === 'string' && known.includes(name)
      ? []
      : [fault(`${path}/${index}`, `is not one of properties; those are ${names || 'none'}`, values)],
  );
}

function enumFaults(value: unknown, at: At): Fault[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_ENUM) {
    return [fault(at.path, `must be a list of 1 to ${MAX_ENUM} values`)];
  }
  return value.flatMap((one: unknown, index) => valueFaults(one, { ...at, path: `${at.path}/${index}` }));
}

/** A value beside the type that the same schema asks for. */
function valueFaults(value: unknown, { node, path }: At): Fault[] {
  const { type } = node;
  if (type === 'object' || type === 'array') return [fault(path, `is taken of ${TYPES.slice(2).join(', ')} only`)];
  return fits({ type: String(type) }, value) ? [] : [fault(path, `must be of type ${String(type)}`)];
}

/** Only of a parameter itself: what is inside one is given whole or not at all. */
function defaultFaults(value: unknown, { node, path, depth }: At): Fault[] {
  if (depth !== 2 || !/\/properties\/[^/]+\/default$/.test(path)) {
    return [fault(path, 'is taken of a parameter itself only, not of what is inside one')];
  }
  const { default: _own, ...schema } = node;
  if (nodeFaults(schema, '', depth).length > 0) return [];
  const [isFitting, errors] = Errors(schema, value);
  if (isFitting) return [];
  return faultsOf(errors, schema as SchemaNode).map((one) => ({ ...one, path: `${path}${one.path}` }));
}

function fits(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  return TYPES.some((type) => type === schema['type']) ? Errors(schema, value)[0] : true;
}

/** The values of parameters that are not given. */
export function defaultsIn(schema: SchemaNode | undefined): Readonly<Record<string, unknown>> {
  const members = Object.entries(schema?.properties ?? {}).flatMap(([name, node]) =>
    Object.hasOwn(node, 'default') ? [[name, (node as { readonly default: unknown }).default] as const] : [],
  );
  return Object.fromEntries(members);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault(path: string, message: string, allowed?: unknown): Fault {
  return { path, message, ...(allowed === undefined ? {} : { allowed }) };
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
