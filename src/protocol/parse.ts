import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { AppError, type Fault } from './app-error.ts';
import { faultsOf, type SchemaNode } from './schema-faults.ts';

/** Most faults that one refusal lists. */
export const MAX_FAULTS = 20;

/**
 * Compiles a schema into a function that gives a value back as its type, or refuses it with all its violations at once.
 * Nothing is coerced, defaulted or removed.
 *
 * @throws AppError `constraint_violated`; its message names the first fault's path and what is allowed, `faults` has all
 *   of them (at most 20), each with an RFC 6901 path
 */
export function compileParser<T extends TSchema>(schema: T): (value: unknown) => Static<T> {
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return value;
    const faults = faultsOf(validator.Errors(value), schema);
    throw refusal(faults);
  };
}

/**
 * The same for a query string, whose values are all text: integers and booleans are read by the schema, and one value
 * stands for a list of one. Text that does not read as its type is refused as itself.
 */
export function compileQueryParser<T extends TSchema>(schema: T): (query: unknown) => Static<T> {
  const parse = compileParser(schema);
  const properties = (schema as SchemaNode).properties ?? {};
  return (query) => {
    const read: Record<string, unknown> = {};
    for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
      read[name] = coerce(value, properties[name]);
    }
    return parse(read);
  };
}

function coerce(value: unknown, schema: SchemaNode | undefined): unknown {
  if (schema?.type === 'array') {
    return (Array.isArray(value) ? value : [value]).map((item: unknown) => coerce(item, schema.items));
  }
  if (typeof value !== 'string') return value;
  if (schema?.type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (schema?.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/** One error for a list of faults; `faults` is never empty. */
export function refusal(faults: readonly Fault[]): AppError {
  const [first] = faults;
  const where = first === undefined || first.path === '' ? 'the body' : `${first.path}:`;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new AppError('constraint_violated', `${where} ${first?.message ?? 'is not valid'}${more}`, {
    faults: faults.slice(0, MAX_FAULTS),
  });
}
