import { Document, Pair, Scalar, YAMLMap, YAMLSeq, type Node, type ScalarTag } from 'yaml';

/**
 * A manifest as it stands in Git: block style, members in the order of the object, one document, a final newline.
 * Whatever reads it, YAML 1.2 or 1.1, reads exactly the object: a text that either version could take for something else
 * is quoted, and a character that is not printable is escaped. The same object always gives the same bytes.
 *
 * @throws TypeError for what JSON cannot hold (NaN, a function, a lone surrogate)
 */
export function manifestText(object: Readonly<Record<string, unknown>>): string {
  const document = new Document(null, {
    aliasDuplicateObjects: false,
    version: '1.2',
    compat: 'yaml-1.1',
    customTags: (tags) => [numberTag, ...tags],
  });
  document.contents = toNode(object);
  const text = document.toString({
    lineWidth: 0,
    indent: 2,
    // Else a long text with newlines in double quotes is spread over lines.
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  });
  // These stand only in double quotes (`scalar` sees to it), where an escape means the same to every reader.
  return text.replaceAll(UNPRINTABLE_ALL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Members sorted by UTF-16 code unit all the way down, so that equal values have one text. Lists keep their order. */
export function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Record<string, unknown>)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([name, member]) => [name, sortMembers(member)]));
}

// C0 but tab and newline, DEL and C1 (U+0085 ends a line in YAML 1.1), the separators that do too, byte order marks,
// and the two non-characters that YAML excludes.
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/;
const UNPRINTABLE_ALL = new RegExp(UNPRINTABLE.source, 'g');

/** What YAML 1.1 reads as a boolean, null, a merge or a default. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null|~|<<|=)$/i;
/** Where numbers and dates begin; readers differ in what they take for one (to go-yaml `-_3` is -3). */
const NUMBER_START = /^[-+.\d]/;
/** Versions such as 6.5.0 and image tags are numbers to nobody. */
const DOTTED = /^\d+\.\d+\.\d+(?:[-.][-.\w]*)?$/;

/** Lines that a literal block gives back in every reader: printable, nothing at either edge, no tab at a line's start. */
const SAFE_BLOCK = /^[^\s][^\t\n]*(?:\n(?:[^\s][^\t\n]*| +[^\s][^\t\n]*)?)*\n?$/;

function toNode(value: unknown): Node {
  if (Array.isArray(value)) {
    const list = new YAMLSeq();
    list.items = value.map((item) => toNode(item ?? null));
    return list;
  }
  if (typeof value === 'string') return scalar(value, 'value');
  if (typeof value === 'number') return number(value);
  if (typeof value === 'boolean' || value === null) return new Scalar(value);
  if (typeof value === 'object') return map(value as Record<string, unknown>);
  throw new TypeError(`a manifest cannot hold a ${typeof value}`);
}

function map(object: Readonly<Record<string, unknown>>): YAMLMap {
  const node = new YAMLMap();
  node.items = Object.entries(object)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => new Pair(scalar(name, 'key'), toNode(member)));
  return node;
}

function scalar(text: string, place: 'key' | 'value'): Scalar {
  if (!text.isWellFormed()) throw new TypeError('a manifest cannot hold a lone surrogate');
  const node = new Scalar(text);
  node.type = style(text, place);
  return node;
}

function style(text: string, place: 'key' | 'value'): Scalar.Type {
  if (UNPRINTABLE.test(text)) return Scalar.QUOTE_DOUBLE;
  if (text.includes('\n')) {
    const block = place === 'value' && SAFE_BLOCK.test(text) && !/[ \t]\n|[ \t]$|\n\n$/.test(text);
    return block ? Scalar.BLOCK_LITERAL : Scalar.QUOTE_DOUBLE;
  }
  const risky =
    text === '' || WORDS.test(text) || (NUMBER_START.test(text) && !DOTTED.test(text)) || /^\s|\t/.test(text);
  // Where a plain text is not possible the library quotes it by itself.
  return risky ? Scalar.QUOTE_DOUBLE : Scalar.PLAIN;
}

function number(value: number): Scalar {
  if (!Number.isFinite(value)) throw new TypeError(`a manifest cannot hold ${value}`);
  return new Scalar(value === 0 ? 0 : value);
}

/**
 * Writes every number. YAML 1.1 takes one with an exponent for a text unless it has a point and a sign (`1.0e+21`), and
 * an integer beyond 2^53 written out would be read as that integer, not as the double it is.
 */
const numberTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  // Of several tags that know a value, the library takes one with a test. This one is for writing only and matches no text.
  test: /(?!)/,
  identify: (value) => typeof value === 'number',
  resolve: Number,
  stringify: ({ value }) => numberText(value as number),
};

function numberText(value: number): string {
  const literal = Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
  return /^-?\d+e/.test(literal) ? literal.replace('e', '.0e') : literal;
}
