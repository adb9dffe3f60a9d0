import { sameJson, isJsonObject } from '../json-value.ts';
import { isNamedField, type Structure } from '../structure.ts';
import { elementStructure, FieldSet, type PathElement } from './field-set.ts';
import { partsOf } from './walk.ts';

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** What differs between two values, by owned field. A new map counts itself besides its members. */
export function compareFields(structure: Structure, before: unknown, after: unknown): Comparison {
  const result = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  const walk = (structure: Structure, left: unknown, right: unknown, path: readonly PathElement[]): void => {
    if (left !== undefined && right !== undefined && sameJson(left, right)) return;
    const lefts = left === undefined ? undefined : partsOf(structure, left);
    const rights = right === undefined ? undefined : partsOf(structure, right);
    const leaf =
      (left !== undefined && lefts === undefined) ||
      (right !== undefined && rights === undefined) ||
      (lefts !== undefined && rights !== undefined && lefts.kind !== rights.kind);
    if (left === undefined) result.added.insert(path);
    else if (right === undefined) result.removed.insert(path);
    else if (leaf) result.modified.insert(path);
    if (leaf && left !== undefined && right !== undefined) return;
    for (const element of new Set([...(lefts?.entries.keys() ?? []), ...(rights?.entries.keys() ?? [])])) {
      walk(elementStructure(structure, element), lefts?.entries.get(element), rights?.entries.get(element), [
        ...path,
        element,
      ]);
    }
  };
  walk(structure, before, after, []);
  return result;
}

/**
 * The fields that a value names: what an applied configuration claims.
 *
 * @param strict throw `DuplicateItem` for two items with one key
 */
export function fieldsOf(structure: Structure, value: unknown, strict = false): FieldSet {
  const result = new FieldSet();
  const walk = (structure: Structure, value: unknown, path: readonly PathElement[]): void => {
    const parts = partsOf(structure, value, strict);
    if (parts === undefined) {
      result.insert(path);
      return;
    }
    for (const [element, member] of parts.entries) {
      const inner = [...path, element];
      const empty = member === null || (isJsonObject(member) && Object.keys(member).length === 0);
      const named = parts.kind === 'fields' && isNamedField(structure, element.slice(2));
      if (empty || !named) result.insert(inner);
      walk(elementStructure(structure, element), member, inner);
    }
  };
  walk(structure, value, []);
  return result;
}
