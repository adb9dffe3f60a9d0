type Members = Iterable<readonly [step: string | undefined, schema: unknown]>;

/** What a keyword of JSON Schema must be, as a message reads it, and the schemas within it. */
interface Keyword {
  readonly mustBe: string;
  readonly fits: (value: unknown) => boolean;
  /** Each with its step below the keyword. */
  readonly schemas?: (value: never) => Members;
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

const isText = (value: unknown): boolean => typeof value === 'string';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isType = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every((one) => TYPES.includes(one))
    : TYPES.includes(value as string);
// The flag that the checks use.
const isPattern = (value: unknown): boolean => {
  try {
    void new RegExp(String(value), 'u');
    return isText(value);
  } catch {
    return false;
  }
};

const members = (value: object): Members => Object.entries(value);

const TEXT: Keyword = { mustBe: 'a text', fits: isText };
const NUMBER: Keyword = { mustBe: 'a number', fits: (value) => typeof value === 'number' };
const COUNT: Keyword = {
  mustBe: 'an integer of 0 or more',
  fits: (value) => Number.isInteger(value) && Number(value) >= 0,
};
const SCHEMA: Keyword = { mustBe: 'a schema', fits: () => true, schemas: (value) => [[undefined, value]] };
const SCHEMAS: Keyword = {
  mustBe: 'a list of schemas, of one at least',
  fits: (value) => Array.isArray(value) && value.length > 0,
  schemas: members,
};
const NAMED_SCHEMAS: Keyword = { mustBe: 'an object of schemas', fits: isObject, schemas: members };
const ANCHOR: Keyword = { mustBe: 'a plain name', fits: (value) => /^[A-Za-z_][-A-Za-z0-9._]*$/.test(String(value)) };

/** The keywords that the validator reads; any other is an annotation. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['$anchor', ANCHOR],
  ['$defs', NAMED_SCHEMAS],
  ['$dynamicAnchor', ANCHOR],
  ['$dynamicRef', { mustBe: 'left out: it is not supported; use $ref', fits: () => false }],
  ['$id', TEXT],
  ['$recursiveRef', { mustBe: 'left out: it is not supported; use $ref', fits: () => false }],
  ['$ref', TEXT],
  ['additionalItems', SCHEMA],
  ['additionalProperties', SCHEMA],
  ['allOf', SCHEMAS],
  ['anyOf', SCHEMAS],
  ['contains', SCHEMA],
  ['definitions', NAMED_SCHEMAS],
  [
    'dependencies',
    {
      mustBe: 'an object of schemas and lists of names',
      fits: (value) => isObject(value) && Object.values(value).every((one) => !Array.isArray(one) || isTexts(one)),
      schemas: (value: object) => Object.entries(value).filter(([, below]) => !Array.isArray(below)),
    },
  ],
  [
    'dependentRequired',
    {
      mustBe: 'an object of lists of names',
      fits: (value) => isObject(value) && Object.values(value).every(isTexts),
    },
  ],
  ['dependentSchemas', NAMED_SCHEMAS],
  ['else', SCHEMA],
  ['enum', { mustBe: 'a list', fits: Array.isArray }],
  ['exclusiveMaximum', NUMBER],
  ['exclusiveMinimum', NUMBER],
  ['format', TEXT],
  ['if', SCHEMA],
  [
    'items',
    {
      mustBe: 'a schema or a list of schemas',
      fits: () => true,
      schemas: (value: unknown) => (Array.isArray(value) ? members(value) : [[undefined, value]]),
    },
  ],
  ['maxContains', COUNT],
  ['maxItems', COUNT],
  ['maxLength', COUNT],
  ['maxProperties', COUNT],
  ['maximum', NUMBER],
  ['minContains', COUNT],
  ['minItems', COUNT],
  ['minLength', COUNT],
  ['minProperties', COUNT],
  ['minimum', NUMBER],
  ['multipleOf', { mustBe: 'a number above 0', fits: (value) => typeof value === 'number' && value > 0 }],
  ['not', SCHEMA],
  ['oneOf', SCHEMAS],
  ['pattern', { mustBe: 'a regular expression', fits: isPattern }],
  [
    'patternProperties',
    {
      mustBe: 'an object of schemas whose names are regular expressions',
      fits: (value) => isObject(value) && Object.keys(value).every(isPattern),
      schemas: members,
    },
  ],
  ['prefixItems', SCHEMAS],
  ['properties', NAMED_SCHEMAS],
  ['propertyNames', SCHEMA],
  ['required', { mustBe: 'a list of names', fits: isTexts }],
  ['then', SCHEMA],
  ['type', { mustBe: `one of ${TYPES.join(', ')}, or a list of them`, fits: isType }],
  ['unevaluatedItems', SCHEMA],
  ['unevaluatedProperties', SCHEMA],
  ['uniqueItems', { mustBe: 'true or false', fits: (value) => typeof value === 'boolean' }],
]);
