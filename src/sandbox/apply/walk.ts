import { isJsonObject, type JsonObject } from '../json-value.ts';
import type { Structure } from '../structure.ts';
import { keyElement, type PathElement } from './field-set.ts';

/** A value taken apart into the parts that have owners of their own; `undefined` when it is one whole (a leaf). */
export interface Parts {
  readonly kind: 'fields' | 'items';
  readonly entries: ReadonlyMap<PathElement, unknown>;
}

/** Thrown for two items with one key: server-side apply cannot tell them apart. */
export class DuplicateItem extends Error {
  readonly element: PathElement;

  constructor(element: PathElement) {
    super(`duplicate entries for key ${element.slice(2)}`);
    this.name = 'DuplicateItem';
    this.element = element;
  }
}

function itemElement(structure: Structure, item: unknown): PathElement | undefined {
  if (structure.type === 'set') return `v:${JSON.stringify(item)}`;
  if (structure.type !== 'keyed' || !isJsonObject(item)) return undefined;
  const entries = structure.keys.flatMap((key): [string, unknown][] => {
    const value = item[key] ?? structure.defaults[key];
    return value === undefined ? [] : [[key, value]];
  });
  return entries.length === 0 ? undefined : keyElement(entries);
}

/**
 * @param strict throw on duplicates; a live object that has some is taken with the last of each
 */
export function partsOf(structure: Structure, value: unknown, strict = false): Parts | undefined {
  if (structure.type === 'atomic') return undefined;
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([field, member]): [PathElement, unknown] => [`f:${field}`, member]);
    return { kind: 'fields', entries: new Map(entries) };
  }
  if (!Array.isArray(value) || (structure.type !== 'set' && structure.type !== 'keyed')) return undefined;
  const entries = new Map<PathElement, unknown>();
  for (const item of value) {
    const element = itemElement(structure, item);
    if (element === undefined) return undefined;
    if (strict && entries.has(element)) throw new DuplicateItem(element);
    entries.set(element, item);
  }
  return { kind: 'items', entries };
}

export function assemble(kind: Parts['kind'], entries: Iterable<readonly [PathElement, unknown]>): unknown {
  if (kind === 'items') return Array.from(entries, ([, item]) => item);
  const result: JsonObject = {};
  for (const [element, member] of entries) result[element.slice(2)] = member;
  return result;
}
