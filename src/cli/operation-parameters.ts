import { InvalidArgumentError } from 'commander';
import { setOwn } from '../protocol/own-property.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { ParameterSchema } from './template-commands.ts';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `90s`, `30m`, `24h`, `7d`; a number alone is seconds. */
export function durationIn(text: string): number {
  const [, count = '', unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  if (count === '') throw new InvalidArgumentError('It is a number with a unit: 90s, 30m, 24h or 7d.');
  return Number(count) * (SECONDS[unit] ?? 1);
}

/** `Kind/name`, or `Kind/namespace/name`. */
export function targetIn(text: string): { readonly kind: string; readonly name: string; readonly namespace?: string } {
  const parts = text.split('/');
  const [kind = '', ...rest] = parts;
  const name = rest.at(-1) ?? '';
  if (parts.length < 2 || parts.length > 3 || parts.includes('')) {
    throw new InvalidArgumentError('It is Kind/name, such as Deployment/web, or Kind/namespace/name.');
  }
  return { kind: kindOf(kind), name, ...(rest.length === 2 ? { namespace: rest[0] ?? '' } : {}) };
}

const KINDS: readonly (readonly [kind: string, short: string])[] = [
  ['Deployment', 'deploy'],
  ['StatefulSet', 'sts'],
  ['DaemonSet', 'ds'],
  ['ApplicationInstance', 'appi'],
];

/** As kubectl takes it: in lower case, as a plural, short. */
function kindOf(text: string): string {
  const asked = text.toLowerCase();
  const found = KINDS.find(([kind, short]) => [kind, `${kind}s`, short].some((one) => one.toLowerCase() === asked));
  return found?.[0] ?? text;
}

/** One `--param`, added to those before it. */
export function collectParameter(text: string, before: readonly (readonly [string, string])[] = []) {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It is name=value.');
  return [...before, [text.slice(0, at), text.slice(at + 1)] as const];
}

/**
 * What `--param` says, each value read as the type that the template's schema has for it: a list by naming it several times
 * or as JSON, a mapping by `name.key=value` or as JSON. A name that the schema has not is passed on as text: the control
 * plane says which there are.
 *
 * @param of.before parameters that are overridden; a mapping of them gets the members that are named
 * @throws CliError that names every value which cannot be read as its type
 */
export function typedParameters(
  given: readonly (readonly [string, string])[],
  {
    schema,
    template,
    before: overridden = {},
  }: {
    readonly schema: ParameterSchema;
    readonly template: string;
    readonly before?: Readonly<Record<string, unknown>> | undefined;
  },
): Record<string, unknown> {
  const faults: string[] = [];
  const parameters: Record<string, unknown> = {};
  const known = schema.properties ?? {};
  for (const [path, text] of given) {
    const [name, key] = Object.hasOwn(known, path) ? [path, undefined] : memberIn(path, known);
    const own = Object.hasOwn(known, name) ? known[name] : undefined;
    if (key !== undefined) {
      const before = [parameters, overridden].find((one) => Object.hasOwn(one, name))?.[name];
      setOwn(parameters, name, {
        ...(typeof before === 'object' && !Array.isArray(before) ? before : {}),
        [key]: text,
      });
      continue;
    }
    const value = readAs(text, own);
    if (value === undefined) {
      faults.push(`--param ${name}: ${template} takes ${withArticle(own?.type)} there, not ${JSON.stringify(text)}`);
    } else if (own?.type === 'array' && !text.startsWith('[')) {
      const before = Object.hasOwn(parameters, name) ? parameters[name] : [];
      setOwn(parameters, name, [...(Array.isArray(before) ? (before as unknown[]) : []), value]);
    } else setOwn(parameters, name, value);
  }
  if (faults.length > 0) {
    throw new CliError(EXIT.usage, faults.join('\n'), `See what it takes: servicectl templates show ${template}`);
  }
  return parameters;
}

/** `env.TARGET` where `env` is a mapping. */
function memberIn(
  path: string,
  known: Readonly<Record<string, ParameterSchema>>,
): readonly [name: string, key: string | undefined] {
  const at = path.indexOf('.');
  const name = path.slice(0, at);
  const isMapping = at > 0 && Object.hasOwn(known, name) && known[name]?.type === 'object';
  return isMapping ? [name, path.slice(at + 1)] : [path, undefined];
}

function readAs(text: string, schema: ParameterSchema | undefined): unknown {
  switch (schema?.type ?? 'string') {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : undefined;
    case 'object':
      return parsed(text, (value) => typeof value === 'object' && value !== null && !Array.isArray(value));
    case 'array':
      return text.startsWith('[') ? parsed(text, Array.isArray) : readAs(text, schema?.items);
    default:
      return text;
  }
}

function parsed(text: string, isIt: (value: unknown) => boolean): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isIt(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function withArticle(type = 'text'): string {
  const words: Readonly<Record<string, string>> = { array: 'a list', object: 'a mapping (JSON, or name.key=value)' };
  return words[type] ?? `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}
