import { parseStrictJson } from './strict-json.ts';

/** A record wraps what a request may hold, which is bounded already where it comes in. */
const MAX_DEPTH = 256;

/**
 * Reads JSON that this project wrote and that holds members named by users, such as chart values.
 *
 * `JSON.parse` of V8 13.6 (Node 24) can take a member name of one escaped character for another: once an object with
 * the member `\` was made, `{"\n":1}` and `{"\"":1}` are read with that name. For values that is another install than
 * the one that was asked for, so a text with an escape in it is read by our own parser.
 */
export function parseExactJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text);
  return parseStrictJson(Buffer.from(text, 'utf8'), { maxDepth: MAX_DEPTH, bigIntegers: true });
}
