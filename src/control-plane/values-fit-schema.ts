import { Errors } from 'typebox/schema';
import type { Fault } from '../protocol/app-error.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Keywords that values which nobody here can read might still satisfy, and those below which that decides. */
const ABOUT_PRESENCE = ['required', 'minProperties', 'dependentRequired', 'anyOf', 'oneOf', 'not', 'if'];
const BRANCHES = /\/(?:anyOf|oneOf|not|if|then|else|dependentSchemas)(?:\/|$)/;

/**
 * What of chart values breaks the catalog entry's `valuesSchema`, as faults below `/values`. None means that they fit. The
 * faults name places and what the schema says, never a value. The schema comes from outside and may take any time: only a
 * check thread may call this.
 *
 * @param isWhole false where there are other values besides: then what is missing may be in them
 */
export function valuesFaults(schema: JsonSchema, values: Readonly<Record<string, unknown>>, isWhole: boolean): Fault[] {
  // Interpreted, not compiled: a compiled validator is generated code, and this schema comes from outside.
  const [fits, all] = Errors(schema, values);
  if (fits) return [];
  const errors = isWhole
    ? all
    : all.filter(({ keyword, schemaPath }) => !ABOUT_PRESENCE.includes(keyword) && !BRANCHES.test(schemaPath));
  return faultsOf(errors, schema as SchemaNode).map((fault) => ({ ...fault, path: `/values${fault.path}` }));
}
