import { parseDocument, stringify } from 'yaml';
import { isObject } from './pointer.ts';

export type ReadText = { readonly value: unknown } | { readonly fault: string };

/** Aliases that a text may use: each is written out in JSON. */
const MAX_ALIASES = 100;

/** Reads YAML of one document. Empty: `undefined`. */
export function readYaml(text: string): ReadText {
  if (text.trim() === '') return { value: undefined };
  try {
    const document = parseDocument(text, { intAsBigInt: true, prettyErrors: true });
    const [error] = document.errors;
    if (error !== undefined) return { fault: error.message.split('\n')[0]?.replace(/:$/, '') ?? 'is not YAML' };
    return { value: exact(document.toJS({ maxAliasCount: MAX_ALIASES })) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** As `readYaml`, of a mapping. */
export function readYamlObject(text: string): ReadText {
  const read = readYaml(text);
  if ('fault' in read || read.value === undefined || isObject(read.value)) return read;
  return { fault: 'must be a mapping: lines of the form "name: value"' };
}

/** Empty for `undefined`. */
export function writeYaml(value: unknown): string {
  return value === undefined ? '' : stringify(value, { lineWidth: 0 });
}

/** JSON of a browser rounds what is larger; a value must not change on its way. */
function exact(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw new Error(`${value} is too large for an exact number: put it in quotes, if the chart takes a string`);
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} has no place in values`);
  if (Array.isArray(value)) return value.map(exact);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exact(one)]));
  return value;
}
