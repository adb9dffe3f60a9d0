import { fieldStructure, isNamedField, untyped, type Structure } from '../structure.ts';
import { isJsonObject, type JsonObject } from '../json-value.ts';

/** `f:name`, `k:{"name":"web"}` or `v:"value"`, as FieldsV1 spells them. */
export type PathElement = string;

function canonical(element: PathElement): PathElement {
  if (!element.startsWith('k:')) return element;
  const key: unknown = JSON.parse(element.slice(2));
  if (!isJsonObject(key)) return element;
  return keyElement(Object.entries(key));
}

/** The element of a keyed list's item; keys are sorted, as the real server writes them. */
export function keyElement(entries: readonly (readonly [string, unknown])[]): PathElement {
  const sorted = entries.toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `k:${JSON.stringify(Object.fromEntries(sorted))}`;
}

/** `.spec.ports[port=80,protocol="TCP"].name`, as conflict causes name a field. */
export function pathText(path: readonly PathElement[]): string {
  return path
    .map((element) => {
      const rest = element.slice(2);
      if (element.startsWith('f:')) return `.${rest}`;
      if (element.startsWith('v:')) return `[=${rest}]`;
      const key: unknown = JSON.parse(rest);
      const pairs = Object.entries(isJsonObject(key) ? key : {});
      return `[${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
    })
    .join('');
}

/**
 * A set of field paths. A path may be a member, have members below it, or both: FieldsV1 writes these as
 * `{}`, `{"f:x": {}}` and `{".": {}, "f:x": {}}`.
 */
export class FieldSet {
  readonly #members = new Set<PathElement>();
  readonly #children = new Map<PathElement, FieldSet>();

  static fromFieldsV1(fields: unknown): FieldSet {
    const result = new FieldSet();
    for (const [name, value] of Object.entries(isJsonObject(fields) ? fields : {})) {
      if (name === '.') continue;
      const element = canonical(name);
      const inner = isJsonObject(value) ? Object.keys(value) : [];
      if (inner.length === 0 || inner.includes('.')) result.#members.add(element);
      const child = FieldSet.fromFieldsV1(value);
      if (!child.isEmpty) result.#children.set(element, child);
    }
    return result;
  }

  static of(paths: readonly (readonly PathElement[])[]): FieldSet {
    const result = new FieldSet();
    for (const path of paths) result.insert(path);
    return result;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0 && this.#children.size === 0;
  }

  insert(path: readonly PathElement[]): void {
    const [first, ...rest] = path;
    if (first === undefined) return;
    if (rest.length === 0) {
      this.#members.add(first);
      return;
    }
    let child = this.#children.get(first);
    if (child === undefined) {
      child = new FieldSet();
      this.#children.set(first, child);
    }
    child.insert(rest);
  }

  has(element: PathElement): boolean {
    return this.#members.has(element);
  }

  below(element: PathElement): FieldSet | undefined {
    return this.#children.get(element);
  }

  union(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const source of [this, other]) {
      for (const member of source.#members) result.#members.add(member);
      for (const [element, child] of source.#children) {
        const before = result.#children.get(element);
        result.#children.set(element, before === undefined ? child : before.union(child));
      }
    }
    return result;
  }

  difference(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const member of this.#members) if (!other.#members.has(member)) result.#members.add(member);
    for (const [element, child] of this.#children) {
      const minus = other.#children.get(element);
      result.#put(element, minus === undefined ? child : child.difference(minus));
    }
    return result;
  }

  /** Like `difference`, but a member of `other` also takes away everything below it. */
  recursiveDifference(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const member of this.#members) if (!other.#members.has(member)) result.#members.add(member);
    for (const [element, child] of this.#children) {
      if (other.#members.has(element)) continue;
      const minus = other.#children.get(element);
      result.#put(element, minus === undefined ? child : child.recursiveDifference(minus));
    }
    return result;
  }

  intersection(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const member of this.#members) if (other.#members.has(member)) result.#members.add(member);
    for (const [element, child] of this.#children) {
      const both = other.#children.get(element);
      if (both !== undefined) result.#put(element, child.intersection(both));
    }
    return result;
  }

  /**
   * Adds the named fields on the way to a member, which FieldsV1 leaves out. A map's keys are not added:
   * they are members already where somebody owns them.
   */
  withNamedFields(structure: Structure): FieldSet {
    const result = new FieldSet();
    for (const member of this.#members) result.#members.add(member);
    for (const [element, child] of this.#children) {
      const field = element.startsWith('f:') ? element.slice(2) : undefined;
      if (field !== undefined && isNamedField(structure, field)) result.#members.add(element);
      result.#children.set(element, child.withNamedFields(elementStructure(structure, element)));
    }
    return result;
  }

  paths(): readonly (readonly PathElement[])[] {
    const elements = [...new Set([...this.#members, ...this.#children.keys()])].toSorted();
    return elements.flatMap((element) => [
      ...(this.#members.has(element) ? [[element]] : []),
      ...(this.#children.get(element)?.paths() ?? []).map((path) => [element, ...path]),
    ]);
  }

  toFieldsV1(): JsonObject {
    const result: JsonObject = {};
    for (const element of [...new Set([...this.#members, ...this.#children.keys()])].toSorted()) {
      const child = this.#children.get(element);
      const self = this.#members.has(element) && child !== undefined ? { '.': {} } : {};
      result[element] = { ...self, ...child?.toFieldsV1() };
    }
    return result;
  }

  #put(element: PathElement, child: FieldSet): void {
    if (!child.isEmpty) this.#children.set(element, child);
  }
}

/** The structure of what `element` leads to. */
export function elementStructure(structure: Structure, element: PathElement): Structure {
  if (element.startsWith('f:')) return fieldStructure(structure, element.slice(2));
  return structure.type === 'keyed' ? structure.item : untyped;
}
