import { isJsonObject, sameJson, type JsonObject } from '../json-value.ts';
import { fieldStructure, type Structure } from '../structure.ts';

const DELETE_ITEMS = '$deleteFromPrimitiveList/';
const ORDER = '$setElementOrder/';

function mergeKeyed(key: string, item: Structure, target: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const wholesale = patch.some((entry) => isJsonObject(entry) && entry['$patch'] === 'replace');
  const result = wholesale ? [] : [...target];
  const place = (value: unknown): number =>
    result.findIndex((entry) => isJsonObject(entry) && sameJson(entry[key], value));
  for (const entry of patch) {
    if (!isJsonObject(entry)) continue;
    const { $patch: directive, ...rest } = entry;
    if (directive === 'replace') continue;
    const index = place(rest[key]);
    if (directive === 'delete') {
      if (index >= 0) result.splice(index, 1);
    } else if (index >= 0) result[index] = strategicMergePatch(item, result[index], rest);
    else result.push(strategicMergePatch(item, undefined, rest));
  }
  return result;
}

function inOrder(list: unknown[], key: string | undefined, order: readonly unknown[]): unknown[] {
  const idOf = (entry: unknown): unknown => (key !== undefined && isJsonObject(entry) ? entry[key] : entry);
  const rank = (entry: unknown): number => order.findIndex((wanted) => sameJson(idOf(wanted), idOf(entry)));
  const listed = list.filter((entry) => rank(entry) >= 0).toSorted((left, right) => rank(left) - rank(right));
  return [...list.filter((entry) => rank(entry) < 0), ...listed];
}

function mergeList(structure: Structure, target: unknown, patch: readonly unknown[]): unknown {
  const before: readonly unknown[] = Array.isArray(target) ? target : [];
  const [key] = structure.type === 'keyed' ? structure.keys : [];
  if (structure.type === 'keyed' && key !== undefined) return mergeKeyed(key, structure.item, before, patch);
  if (structure.type !== 'set') return patch;
  return [...before, ...patch.filter((value) => !before.some((other) => sameJson(other, value)))];
}

/**
 * The part of strategic merge patch that kubectl sends for built-in kinds: maps merge, null deletes, lists with
 * keys merge by their first key, `$patch`, `$retainKeys`, `$deleteFromPrimitiveList`, `$setElementOrder`.
 */
export function strategicMergePatch(structure: Structure, target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return mergeList(structure, target, patch);
  if (!isJsonObject(patch)) return patch;
  const { $patch: directive, $retainKeys: retain, ...fields } = patch;
  if (directive === 'delete') return {};
  if (directive === 'replace') return fields;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  if (Array.isArray(retain)) {
    for (const field of Object.keys(result)) if (!retain.includes(field)) delete result[field];
  }
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith('$')) continue;
    if (value === null) delete result[field];
    else result[field] = strategicMergePatch(fieldStructure(structure, field), result[field], value);
  }
  for (const [directiveName, value] of Object.entries(fields)) {
    if (!Array.isArray(value)) continue;
    const field = directiveName.slice(directiveName.indexOf('/') + 1);
    const list: unknown = result[field];
    if (!Array.isArray(list)) continue;
    if (directiveName.startsWith(DELETE_ITEMS)) {
      result[field] = list.filter((entry) => !value.some((gone) => sameJson(gone, entry)));
    } else if (directiveName.startsWith(ORDER)) {
      const inner = fieldStructure(structure, field);
      result[field] = inOrder([...list], inner.type === 'keyed' ? inner.keys[0] : undefined, value);
    }
  }
  return result;
}
