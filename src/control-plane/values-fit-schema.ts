import { Errors } from 'typebox/schema';
import { AppError, type Fault } from '../protocol/app-error.ts';
import { faultsOf, type SchemaNode } from '../protocol/schema-faults.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Keywords that values which nobody here can read might still satisfy, and those below which that decides. */
const ABOUT_PRESENCE = ['required', 'minProperties', 'dependentRequired', 'anyOf', 'oneOf', 'not', 'if'];
const BRANCHES = /\/(?:anyOf|oneOf|not|if|then|else|dependentSchemas)(?:\/|$)/;

/**
 * What of chart values breaks the catalog entry's `valuesSchema`, as faults below `/values`. None means that they fit. The
 * faults name places and what the schema says, never a value.
 *
 * @param isWhole false where there are sealed values besides, of an earlier intent: then what is missing may be in them
 */
export function valuesFaults(
  schema: JsonSchema | undefined,
  values: Readonly<Record<string, unknown>>,
  isWhole = true,
): Fault[] {
  if (schema === undefined) return [];
  // Interpreted, not compiled: a compiled validator is generated code, and this schema comes from outside.
  const [fits, all] = Errors(schema, values);
  if (fits) return [];
  const errors = isWhole
    ? all
    : all.filter(({ keyword, schemaPath }) => !ABOUT_PRESENCE.includes(keyword) && !BRANCHES.test(schemaPath));
  return faultsOf(errors, schema as SchemaNode).map((fault) => ({ ...fault, path: `/values${fault.path}` }));
}

/** Refuses a schema that cannot be applied to anything, such as one with a broken `pattern`. */
export function assertUsableSchema(schema: JsonSchema): void {
  for (const pattern of patternsIn(schema)) {
    try {
      // The flag that the checks use.
      void new RegExp(pattern, 'u');
    } catch {
      const message = `holds the pattern ${JSON.stringify(pattern)}, which is not a regular expression`;
      throw new AppError('constraint_violated', `/valuesSchema: ${message}`, {
        faults: [{ path: '/valuesSchema', message }],
      });
    }
  }
}

function* patternsIn(node: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, member] of Object.entries(node)) {
    if (name === 'pattern' && typeof member === 'string') yield member;
    if (name === 'patternProperties' && typeof member === 'object' && member !== null) yield* Object.keys(member);
    yield* patternsIn(member);
  }
}
