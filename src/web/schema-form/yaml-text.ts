import { LineCounter, parseDocument, stringify, type Document } from 'yaml';
import { isObject } from './pointer.ts';
import { faultInYaml } from './yaml-faults.ts';

export type ReadText = { readonly value: unknown } | { readonly fault: string };

/** Aliases that a text may use: each is written out in JSON. */
const MAX_ALIASES = 100;
/** The parser goes down a level of the text by a call, and ends where there are no more. */
const TOO_DEEP: ReadText = { fault: 'is nested too deeply' };

/** Reads YAML of one document; what would be something else as JSON is refused. Nothing but comments: `undefined`. */
export function readYaml(text: string): ReadText {
  try {
    const lines = new LineCounter();
    const document = parseDocument(text, { intAsBigInt: true, prettyErrors: true, lineCounter: lines });
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) {
      if (error.message.includes('call stack')) return TOO_DEEP;
      return { fault: error.message.split('\n')[0]?.replace(/:$/, '') ?? 'is not YAML' };
    }
    if (isEmpty(document)) return { value: undefined };
    const fault = faultInYaml(document, lines);
    if (fault !== undefined) return { fault };
    return { value: exact(document.toJS({ maxAliasCount: MAX_ALIASES })) };
  } catch (error) {
    if (error instanceof RangeError) return TOO_DEEP;
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

/** Not `null`, which somebody wrote. */
function isEmpty({ contents }: Document): boolean {
  return (
    contents === null ||
    ('source' in contents && contents.source === '' && !('type' in contents && contents.type !== 'PLAIN'))
  );
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
