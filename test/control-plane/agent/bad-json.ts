import fc from 'fast-check';

/** JSON pointers of every member and item of a value, the outermost left out. */
export function pointersOf(value: unknown, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [`${at}/${name}`, ...pointersOf(inner, `${at}/${name}`)]);
}

/** What stands at a pointer of `pointersOf`. */
export function valueAt(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce((inner: unknown, name) => (inner as Record<string, unknown>)[name], value);
}

/** A copy with something else at a pointer; undefined: without it. */
export function withValue(value: unknown, pointer: string, replacement: unknown): unknown {
  const copy = structuredClone(value);
  const names = pointer.split('/').slice(1);
  const last = names.pop() ?? '';
  const parent = names.reduce((inner: unknown, name) => (inner as Record<string, unknown>)[name], copy);
  if (replacement === undefined) Reflect.deleteProperty(parent as object, last);
  else (parent as Record<string, unknown>)[last] = replacement;
  return copy;
}

/** A JSON value of another type than `documented`. Between integers and other numbers there is a difference too. */
export function otherType(documented: unknown): fc.Arbitrary<unknown> {
  const number = typeof documented === 'number';
  const leaf = fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.string());
  return fc
    .oneof(
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, min: -1e15, max: 1e15, noInteger: number }),
      fc.string({ unit: 'grapheme' }),
      fc.array(leaf, { maxLength: 3 }),
      fc.dictionary(fc.string(), fc.array(leaf), { maxKeys: 3, noNullPrototype: true }),
    )
    .filter((value) => typeName(value) !== typeName(documented) || (number && !Number.isInteger(value)));
}

/** Ways to spoil a JSON text so that readers would differ on it, or could not read it at all. */
export const SPOILERS: Readonly<Record<string, (json: string, at: number) => Buffer>> = {
  'a duplicate member': (json, at) => atBrace(json, at, '{"again":1,"again":1,'),
  'a member that is there already, spelled otherwise': (json, at) => atBrace(json, at, '{"\\u0061":1,"a":2,'),
  'a lone surrogate': (json, at) => atBrace(json, at, '{"lone":"\\ud83d",'),
  'a lone surrogate as a name': (json, at) => atBrace(json, at, '{"\\udc00":1,'),
  'a number that overflows': (json, at) => atBrace(json, at, '{"big":1e400,'),
  'an integer that a double does not hold': (json, at) => atBrace(json, at, '{"big":9007199254740993,'),
  'no number': (json, at) => atBrace(json, at, '{"nan":NaN,'),
  'a leading zero': (json, at) => atBrace(json, at, '{"zero":01,'),
  'a comment': (json, at) => atBrace(json, at, '{/* */'),
  'deep objects': (json, at) => atBrace(json, at, `{"deep":${'{"d":'.repeat(5000)}1${'}'.repeat(5000)},`),
  'deep arrays': (json, at) => atBrace(json, at, `{"deep":${'['.repeat(50_000)}${']'.repeat(50_000)},`),
  'an unclosed depth': (json, at) => atBrace(json, at, `{"deep":${'['.repeat(100_000)}`),
  'a control character': (json, at) => atBrace(json, at, '{"bell":"\u0007",'),
  'a byte that is not UTF-8': (json) => Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from([0xff, 0x7d])]),
  'an overlong encoding': (json) =>
    Buffer.concat([Buffer.from(`${json.slice(0, -1)},"x":"`), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
  'UTF-16': (json) => Buffer.from(json, 'utf16le'),
  'a byte order mark': (json) => Buffer.from(`\ufeff${json}`),
  'text behind': (json) => Buffer.from(`${json}{}`),
  'an early end': (json, at) => Buffer.from(json.slice(0, 1 + (at % (json.length - 1)))),
};

/** Puts text in the place of one of the opening braces. */
function atBrace(json: string, at: number, text: string): Buffer {
  const braces = [...json.matchAll(/\{(?!\})/g)].map(({ index }) => index);
  const index = braces[at % braces.length] ?? 0;
  return Buffer.from(json.slice(0, index) + text + json.slice(index + 1));
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
