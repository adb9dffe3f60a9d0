import { isJsonObject, sameJson, type JsonObject } from '../json-value.ts';
import { formatCheck } from './formats.ts';
import {
  invalidValue,
  junctor,
  missing,
  notOneOf,
  SchemaResult,
  wrongType,
  type SchemaError,
} from './schema-result.ts';

type JsonType = 'boolean' | 'string' | 'integer' | 'number' | 'array' | 'object';

interface Check {
  readonly applies: (schema: JsonObject, type: JsonType) => boolean;
  readonly run: (schema: JsonObject, value: unknown, path: string) => SchemaResult;
}

const regexes = new Map<string, RegExp>();

/** Go's RE2 syntax, as far as JavaScript's differs in what schemas use. */
export function compilePattern(pattern: string): RegExp {
  let regex = regexes.get(pattern);
  if (regex === undefined) {
    const [, flags = '', rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
    const source = rest
      .replaceAll('(?P<', '(?<')
      .replaceAll(String.raw`\z`, '$')
      .replaceAll(String.raw`\A`, '^');
    try {
      regex = new RegExp(source, `u${flags}`);
    } catch {
      regex = new RegExp(source, flags);
    }
    regexes.set(pattern, regex);
  }
  return regex;
}

function typeOf(value: unknown): JsonType {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value === 'string' || typeof value === 'boolean' ? (typeof value as 'string' | 'boolean') : 'object';
}

function typesOf(schema: JsonObject): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return typeof schema['type'] === 'string' && schema['type'] !== '' ? [schema['type']] : [];
}

/** Formats that the server does not know count as none. */
function formatOf(schema: JsonObject): string {
  const format = typeof schema['format'] === 'string' ? schema['format'] : '';
  return formatCheck(format) === undefined ? '' : format;
}

function passed(): SchemaResult {
  const result = new SchemaResult();
  result.matches = 1;
  return result;
}

function failed(...errors: readonly SchemaError[]): SchemaResult {
  const result = new SchemaResult();
  for (const error of errors) result.add(error);
  return result;
}

function checkType(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const types = typesOf(schema);
  const format = formatOf(schema);
  if (value === null) {
    if (types.length > 0 && schema['nullable'] !== true) return failed(wrongType(path, types.join(), 'null'));
    return passed();
  }
  const type = typeOf(value);
  const fits =
    types.includes(type) ||
    (type === 'integer' && types.includes('number')) ||
    (type === 'number' && types.includes('integer') && Number.isInteger(value));
  const textual = type === 'string' || type === 'array';
  if (format !== '' && !textual && !fits) {
    return failed(wrongType(path, format, { integer: 'int64', number: 'float64' }[type as string] ?? ''));
  }
  // A text with a format is judged by the format alone.
  if (format !== '' && textual && !types.includes('number') && !types.includes('integer')) return passed();
  return fits ? passed() : failed(wrongType(path, types.join(), type));
}

function schemasAt(schema: JsonObject, field: string): readonly JsonObject[] {
  return Array.isArray(schema[field]) ? schema[field].filter(isJsonObject) : [];
}

function closest(results: readonly SchemaResult[]): SchemaResult | undefined {
  let best: SchemaResult | undefined;
  for (const result of results) if (best === undefined || result.matches > best.matches) best = result;
  return best;
}

function checkAnyOf(schemas: readonly JsonObject[], value: unknown, path: string, into: SchemaResult): void {
  const failures: SchemaResult[] = [];
  for (const schema of schemas) {
    const result = validateValue(schema, value, path);
    if (result.valid) {
      into.merge(result);
      return;
    }
    failures.push(result);
  }
  into.add(junctor(path, 'must validate at least one schema (anyOf)'));
  into.merge(closest(failures) ?? new SchemaResult());
}

function checkOneOf(schemas: readonly JsonObject[], value: unknown, path: string, into: SchemaResult): void {
  const results = schemas.map((schema) => validateValue(schema, value, path));
  const valid = results.filter((result) => result.valid);
  const [only] = valid;
  if (only !== undefined && valid.length === 1) {
    into.merge(only);
    return;
  }
  const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
  into.add(junctor(path, `must validate one and only one schema (oneOf). ${found}`));
  if (valid.length === 0) into.merge(closest(results) ?? new SchemaResult());
}

function checkAllOf(schemas: readonly JsonObject[], value: unknown, path: string, into: SchemaResult): void {
  const results = schemas.map((schema) => validateValue(schema, value, path));
  for (const result of results) into.merge(result);
  const valid = results.filter((result) => result.valid).length;
  if (valid === results.length) return;
  into.add(junctor(path, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`));
}

function checkJunctors(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const result = new SchemaResult();
  const [anyOf, oneOf, allOf] = ['anyOf', 'oneOf', 'allOf'].map((field) => schemasAt(schema, field));
  if (anyOf !== undefined && anyOf.length > 0) checkAnyOf(anyOf, value, path, result);
  if (oneOf !== undefined && oneOf.length > 0) checkOneOf(oneOf, value, path, result);
  if (allOf !== undefined && allOf.length > 0) checkAllOf(allOf, value, path, result);
  if (isJsonObject(schema['not']) && validateValue(schema['not'], value, path).valid) {
    result.add(junctor(path, 'must not validate the schema (not)'));
  }
  result.matches += 1;
  return result;
}

function numberAt(schema: JsonObject, field: string): number | undefined {
  return typeof schema[field] === 'number' ? schema[field] : undefined;
}

function checkText(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const text = String(value);
  const { length } = Array.from(text);
  const [longest, shortest] = [numberAt(schema, 'maxLength'), numberAt(schema, 'minLength')];
  if (longest !== undefined && length > longest) {
    return failed(invalidValue(path, `should be at most ${longest} chars long`, text));
  }
  if (shortest !== undefined && length < shortest) {
    return failed(invalidValue(path, `should be at least ${shortest} chars long`, text));
  }
  const pattern = typeof schema['pattern'] === 'string' ? schema['pattern'] : '';
  if (pattern === '' || compilePattern(pattern).test(text)) return new SchemaResult();
  return failed(invalidValue(path, `should match '${pattern}'`, text));
}

function checkFormat(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const format = formatOf(schema);
  const text = String(value);
  return formatCheck(format)?.(text) === false ? failed(wrongType(path, format, text)) : new SchemaResult();
}

function checkNumber(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const given = Number(value);
  const result = new SchemaResult();
  // A bound of an integer is cut to an integer.
  const bound = (limit: number): number => (Number.isInteger(given) ? Math.trunc(limit) : limit);
  const [factor, low, high] = ['multipleOf', 'minimum', 'maximum'].map((field) => numberAt(schema, field));
  if (factor !== undefined && !Number.isInteger(factor < 1 ? (1 / factor) * given : given / factor)) {
    result.add(invalidValue(path, `should be a multiple of ${factor}`, given));
  }
  if (low !== undefined) {
    const [least, exclusive] = [bound(low), schema['exclusiveMinimum'] === true];
    const words = exclusive ? 'greater than' : 'greater than or equal to';
    if (given < least || (exclusive && given === least)) {
      result.add(invalidValue(path, `should be ${words} ${least}`, given));
    }
  }
  if (high !== undefined) {
    const [most, exclusive] = [bound(high), schema['exclusiveMaximum'] === true];
    const words = exclusive ? 'less than' : 'less than or equal to';
    if (given > most || (exclusive && given === most)) {
      result.add(invalidValue(path, `should be ${words} ${most}`, given));
    }
  }
  result.matches += 1;
  return result;
}

function checkList(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const list = Array.isArray(value) ? value : [];
  const result = new SchemaResult();
  const { items } = schema;
  if (isJsonObject(items)) {
    // Faults of items are reported at the list, as servers before 1.23 do.
    for (const item of list) result.merge(validateValue(items, item, path));
  }
  const [least, most] = [numberAt(schema, 'minItems'), numberAt(schema, 'maxItems')];
  if (least !== undefined && list.length < least) {
    result.add(invalidValue(path, `should have at least ${least} items`, list.length));
  }
  if (most !== undefined && list.length > most) {
    result.add(invalidValue(path, `should have at most ${most} items`, list.length));
  }
  if (schema['uniqueItems'] === true && list.some((item, at) => list.slice(0, at).some((one) => sameJson(one, item)))) {
    result.add(invalidValue(path, "shouldn't contain duplicates", ''));
  }
  result.matches += 1;
  return result;
}

function checkEnum(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const allowed: unknown = schema['enum'];
  if (!Array.isArray(allowed) || allowed.length === 0) return new SchemaResult();
  const found = value !== null && allowed.some((candidate) => sameJson(candidate, value));
  return found ? new SchemaResult() : failed(notOneOf(path, value, allowed));
}

function checkMap(schema: JsonObject, value: unknown, path: string): SchemaResult {
  const map = isJsonObject(value) ? value : {};
  const size = Object.keys(map).length;
  const [least, most] = [numberAt(schema, 'minProperties'), numberAt(schema, 'maxProperties')];
  if (least !== undefined && size < least) {
    return failed(invalidValue(path, `should have at least ${least} properties`, least));
  }
  if (most !== undefined && size > most) {
    return failed(invalidValue(path, `should have at most ${most} properties`, most));
  }
  const result = new SchemaResult();
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const rest = schema['additionalProperties'];
  for (const [key, member] of Object.entries(map)) {
    if (Object.hasOwn(properties, key)) continue;
    if (rest === false) {
      const message = `${path}.${key} in body is a forbidden property`;
      const { fault } = invalidValue(path, '', key);
      result.add({ message, fault: { ...fault, detail: message } });
    } else if (isJsonObject(rest)) result.merge(validateValue(rest, member, `${path}.${key}`));
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(map, name) || !isJsonObject(property)) continue;
    result.merge(validateValue(property, map[name], path === '' ? name : `${path}.${name}`));
  }
  for (const name of Array.isArray(schema['required']) ? schema['required'].map(String) : []) {
    const property = properties[name];
    const defaulted = isJsonObject(property) && property['default'] !== undefined;
    if (!Object.hasOwn(map, name) && !defaulted) result.add(missing(`${path}.${name}`));
  }
  return result;
}

const always = (): boolean => true;

/** In the order in which the server makes them. */
const checks: readonly Check[] = [
  { applies: (schema) => typesOf(schema).length > 0 || formatOf(schema) !== '', run: checkType },
  { applies: always, run: checkJunctors },
  { applies: (_, type) => type === 'string', run: checkText },
  { applies: (schema, type) => type === 'string' && formatOf(schema) !== '', run: checkFormat },
  { applies: (_, type) => type === 'integer' || type === 'number', run: checkNumber },
  { applies: (_, type) => type === 'array', run: checkList },
  { applies: always, run: checkEnum },
  { applies: (_, type) => type === 'object', run: checkMap },
];

/** Checks a value against an OpenAPI v3 schema as kube-openapi's validator (of the 1.20 server) does, word for word. */
export function validateValue(schema: JsonObject, value: unknown, path = ''): SchemaResult {
  const result = new SchemaResult();
  if (value === null) return result.merge(checkType(schema, value, path)).merge(checkEnum(schema, value, path));
  const type = typeOf(value);
  for (const check of checks) {
    if (!check.applies(schema, type)) continue;
    result.merge(check.run(schema, value, path));
    result.matches += 1;
  }
  result.matches += 1;
  return result;
}
