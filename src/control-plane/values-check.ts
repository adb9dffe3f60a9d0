import type { Fault } from '../protocol/app-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
// It also sets, for the thread that loads it, how many errors TypeBox lists.
import { MAX_FAULTS } from '../protocol/parse.ts';
import { schemaIsUnusable } from './schema-is-unusable.ts';
import { valuesFaults, type JsonSchema } from './values-fit-schema.ts';

/** What a check thread is asked, as JSON text. */
export interface ValuesCheck {
  readonly schema: JsonSchema;
  readonly values: Readonly<Record<string, unknown>>;
  /** False where there are other values besides, which nobody here sees: what is missing may be in them. */
  readonly isWhole: boolean;
  /** The schema is about to be stored: it is judged itself first, and the values when nothing is wrong with it. */
  readonly isNew: boolean;
}

/** `failed`: the schema cannot be applied to the values, and why. */
export type CheckAnswer =
  | { readonly state: 'judged'; readonly faults: readonly Fault[] }
  | { readonly state: 'failed'; readonly why: string };

/** What a fault may take up, since all of it comes from a schema of up to a mebibyte. */
const MAX_TEXT = 500;
const MAX_ALLOWED_TEXT = 2000;

/** Judges by a schema from outside: it may take any time, so only a check thread, which can be ended, may call it. */
export function runValuesCheck(text: string): CheckAnswer {
  const { schema, values, isWhole, isNew } = parseExactJson(text) as ValuesCheck;
  try {
    const ofSchema = isNew ? schemaIsUnusable(schema) : [];
    const faults = ofSchema.length > 0 ? ofSchema : valuesFaults(schema, values, isWhole);
    return { state: 'judged', faults: faults.slice(0, MAX_FAULTS).map(shortened) };
  } catch (error) {
    if (error instanceof RangeError) return { state: 'failed', why: 'it goes too deep' };
    // An engine's own words may hold a value.
    return { state: 'failed', why: 'one of its keywords fails' };
  }
}

function shortened({ path, message, allowed }: Fault): Fault {
  const fits = allowed !== undefined && JSON.stringify(allowed).length <= MAX_ALLOWED_TEXT;
  return { path: cut(path), message: cut(message), ...(fits ? { allowed } : {}) };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT).toWellFormed()}…`;
}
