import { InvalidArgumentError } from 'commander';
import { setOwn } from '../protocol/own-property.ts';

/** One `--set` or `--set-string`. */
export interface Assignment {
  /** As it was typed, with the option. */
  readonly said: string;
  /** Members by their names, items by their numbers. */
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/** Of a list that is filled by its numbers: a slip of the finger makes no list of a million. */
const MAX_INDEX = 1000;

/** `--set a.b=c`: true, false, null, numbers, JSON lists and objects are those; all else is text. */
export function collectSet(text: string, before: readonly Assignment[] = []): Assignment[] {
  return [...before, assignmentIn(text, '--set', typed)];
}

/** `--set-string a.b=1`: text, whatever it looks like. */
export function collectSetString(text: string, before: readonly Assignment[] = []): Assignment[] {
  return [...before, assignmentIn(text, '--set-string', (value) => value)];
}

/** What is there with it; nothing that was there is changed. */
export function assign(
  values: Readonly<Record<string, unknown>>,
  { path, value }: Assignment,
): Record<string, unknown> {
  return withAt(values, path, value) as Record<string, unknown>;
}

function assignmentIn(text: string, option: string, valueIn: (text: string) => unknown): Assignment {
  const [, place = '', value = ''] = /^((?:\\.|[^\\=])+)=([^]*)$/.exec(text) ?? [];
  const path = place === '' ? undefined : pathIn(place);
  if (path === undefined) {
    throw new InvalidArgumentError('It is name=value or a.b[0].c=value, with a dot of a name written as \\.');
  }
  return { said: `${option} ${place}`, path, value: valueIn(value) };
}

/** `a.b\.c[0]` is a, b.c and the first item of it. */
function pathIn(text: string): (string | number)[] | undefined {
  const path: (string | number)[] = [];
  for (const part of text.match(/(?:\\.|[^.\\])+|\./g) ?? []) {
    if (part === '.') continue;
    const [, name = '', indexes = ''] = /^((?:\\.|[^[\]\\])+)((?:\[\d{1,4}\])*)$/.exec(part) ?? [];
    if (name === '') return undefined;
    path.push(name.replaceAll(/\\(.)/g, '$1'));
    for (const [, index = ''] of indexes.matchAll(/\[(\d+)\]/g)) path.push(Number(index));
  }
  const hasGaps = /(?:^|[^\\])\.\.|^\.|(?:^|[^\\])\.$/.test(text);
  return hasGaps || path.some((part) => typeof part === 'number' && part > MAX_INDEX) ? undefined : path;
}

function typed(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  if (/^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text)) return Number(text);
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function withAt(before: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return value;
  if (typeof head === 'number') {
    const items: unknown[] = Array.isArray(before) ? [...(before as unknown[])] : [];
    // As Helm fills it.
    while (items.length < head) items.push(null);
    items[head] = withAt(items[head], rest, value);
    return items;
  }
  const members: Record<string, unknown> = {};
  if (isObject(before)) for (const [name, member] of Object.entries(before)) setOwn(members, name, member);
  setOwn(members, head, withAt(Object.hasOwn(members, head) ? members[head] : undefined, rest, value));
  return members;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
