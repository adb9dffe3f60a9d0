import { isJsonObject } from '../json-value.ts';

/** `%q`: as Go quotes a string. */
export function goQuoted(text: string): string {
  const escapes: Readonly<Record<string, string>> = { '\u0007': String.raw`\a`, '\u000b': String.raw`\v` };
  return JSON.stringify(text).replaceAll(/\\u00([01][0-9a-f])|\u007F/g, (match, code: string | undefined) => {
    const byte = code ?? '7f';
    return escapes[String.fromCodePoint(parseInt(byte, 16))] ?? (match === '' ? '' : `\\x${byte}`);
  });
}

/** `%#v` of a value that was decoded from JSON. Map keys are sorted, as fmt prints them. */
function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return goQuoted(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${goQuoted(key)}:${goSyntax(value[key])}`);
  return `map[string]interface {}{${members.join(', ')}}`;
}

/** `%#v` of a `[]string`, or of another list of texts. */
export function goStrings(list: readonly string[], type = '[]string'): string {
  return `${type}{${list.map(goQuoted).join(', ')}}`;
}

/** A value as a field error of apimachinery shows it. */
export function faultValue(value: unknown): string {
  if (value === null || value === undefined) return '"null"';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return goSyntax(value);
}
