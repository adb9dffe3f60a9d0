import { code, prose, sentence } from './markdown.ts';

/** A JSON schema as custom resources and the OpenAPI document have it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly [keyword: string]: unknown;
}

/** Longer ones are no help to a reader; the description says what is meant. */
const LONGEST_PATTERN = 80;

const counted = (value: unknown, what: string): string => `${String(value)} ${what}${value === 1 ? '' : 's'}`;

const BOUNDS: Readonly<Record<string, (value: unknown) => string>> = {
  minLength: (value) => (value === 1 ? 'what is not empty' : `at least ${String(value)} characters`),
  maxLength: (value) => `at most ${String(value)} characters`,
  minimum: (value) => `at least ${String(value)}`,
  maximum: (value) => `at most ${String(value)}`,
  minItems: (value) => `at least ${counted(value, 'item')}`,
  maxItems: (value) => `at most ${counted(value, 'item')}`,
  minProperties: (value) => `at least ${counted(value, 'member')}`,
  maxProperties: (value) => `at most ${counted(value, 'member')}`,
  format: (value) => String(value),
  pattern: (value) => (String(value).length > LONGEST_PATTERN ? '' : `pattern ${code(String(value))}`),
};

/** One item of a list for each field, with those below it: `spec.chart.name` (string, required): what it is. */
export function fieldItems(schema: Schema, path = ''): string[] {
  return membersOf(schema).flatMap(({ name, member, isRequired }) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [fieldItem(at, member, isRequired), ...below(member, at)];
  });
}

function below(schema: Schema, at: string): string[] {
  if (schema.items !== undefined) return below(schema.items, `${at}[]`);
  return fieldItems(schema, at);
}

interface Member {
  readonly name: string;
  readonly member: Schema;
  readonly isRequired: boolean;
}

function membersOf(schema: Schema): Member[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, member]) => ({
    name,
    member,
    isRequired: schema.required?.includes(name) === true,
  }));
  const others = [schema.additionalProperties, ...Object.values(schema.patternProperties ?? {})];
  const open = others
    .filter((other) => typeof other === 'object' && Object.keys(other).length > 0)
    .map((member) => ({ name: '*', member: member as Schema, isRequired: false }));
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap(membersOf);
  const named = new Map([...variants, ...own, ...open].map((member) => [member.name, member]));
  return [...named.values()];
}

function fieldItem(at: string, schema: Schema, isRequired: boolean): string {
  const { text, fallback } = describe(schema);
  const facts = [typeOf(schema), isRequired ? 'required' : '', fallback === '' ? '' : `default: ${fallback}`];
  const limits = limitsOf(schema);
  const said = [text, limits === '' ? '' : sentence(`Takes ${limits}`)].filter((part) => part !== '').join(' ');
  return `${code(at)} (${facts.filter((fact) => fact !== '').join(', ')})${said === '' ? '' : `: ${said}`}`;
}

/** What a description says, and the default that it names. */
function describe({ description = '', default: own }: Schema): { readonly text: string; readonly fallback: string } {
  const [whole, said] = / ?\(default: ([^()]*)\)/.exec(description) ?? ['', ''];
  const fallback = own === undefined ? prose(said ?? '') : code(JSON.stringify(own));
  const text = prose(whole === '' ? description : description.replace(whole, ''));
  return { text: text === '' ? '' : sentence(text.charAt(0).toUpperCase() + text.slice(1)), fallback };
}

/** Such as `string`, `list of integer`, `ClusterAnswer` with a link to it. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return `[${name}](#${name.toLowerCase()})`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' or ');
  if (schema.allOf !== undefined) return [...new Set(schema.allOf.map(typeOf))].join(' and ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  const open = schema.additionalProperties;
  if (schema.type === 'object' && schema.properties === undefined && typeof open === 'object') {
    return Object.keys(open).length === 0 ? 'object' : `map of ${typeOf(open)}`;
  }
  return typeof schema.type === 'string' ? schema.type : 'anything';
}

function limitsOf(schema: Schema): string {
  const choices = schema.enum?.map((value) => code(typeof value === 'string' ? value : JSON.stringify(value)));
  const own = Object.entries(BOUNDS).map(([keyword, say]) => {
    return schema[keyword] === undefined || schema[keyword] === 'int64' ? '' : say(schema[keyword]);
  });
  const ofItems = schema.items === undefined ? '' : limitsOf(schema.items);
  return [choices === undefined ? '' : choices.join(', '), ...own, ofItems === '' ? '' : `each ${ofItems}`]
    .filter((limit) => limit !== '')
    .join('; ');
}
