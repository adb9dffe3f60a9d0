import type { Field, FieldInputs } from './field.ts';
import { fieldOf } from './field.ts';
import { isObject, pointerOf, valueAt } from './pointer.ts';

/** One thing that the API finds wrong, by the place in the request (RFC 6901). */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** What is told where; `''` is the form as a whole, `others` belong to no place of it. */
export interface PlacedFaults {
  readonly at: ReadonlyMap<string, readonly string[]>;
  readonly others: readonly Fault[];
}

export const NO_FAULTS: PlacedFaults = { at: new Map(), others: [] };

/**
 * Puts each fault at its field, or at the nearest one around it that is shown.
 *
 * @param roots what the fields stand below in the request, such as `/values` and `/secretValues`
 */
export function placeFaults(
  faults: readonly Fault[],
  shown: ReadonlySet<string>,
  roots: readonly string[],
): PlacedFaults {
  const at = new Map<string, string[]>();
  const others: Fault[] = [];
  for (const fault of faults) {
    const root = roots.find((one) => fault.path === one || fault.path.startsWith(`${one}/`));
    if (root === undefined) {
      others.push(fault);
      continue;
    }
    const place = fault.path.slice(root.length);
    let nearest = place;
    while (nearest !== '' && !shown.has(nearest)) nearest = nearest.slice(0, nearest.lastIndexOf('/'));
    const below = place.slice(nearest.length);
    const text = below === '' ? fault.message : `${below.slice(1).replaceAll('/', '.')}: ${fault.message}`;
    at.set(nearest, [...(at.get(nearest) ?? []), text]);
  }
  return { at, others };
}

/** The faults that still hold once something at a place was changed. */
export function stillFound(
  faults: readonly Fault[],
  touched: string | undefined,
  roots: readonly string[],
): readonly Fault[] {
  if (touched === undefined) return faults;
  const places = roots.map((root) => `${root}${touched}`);
  return faults.filter(({ path }) => !places.some((place) => path === place || path.startsWith(`${place}/`)));
}

/** Pointers of all fields that a form shows of these values. */
export function shownPlaces(field: Field, values: unknown, inputs: FieldInputs): Set<string> {
  const places = new Set<string>();
  const visit = (one: Field): void => {
    places.add(pointerOf(one.path));
    if (one.kind === 'object') one.fields.forEach(visit);
    if (one.kind === 'array') itemFields(one, values, inputs).forEach(visit);
  };
  visit(field);
  return places;
}

/** A field for each item that there is. */
export function itemFields(field: Field & { readonly kind: 'array' }, values: unknown, inputs: FieldInputs): Field[] {
  const items = valueAt(values, field.path);
  if (!Array.isArray(items)) return [];
  return items.map((_item, index) => fieldOf(field.items, [...field.path, index], inputs, true));
}

/** What a new item of a list begins with. */
export function emptyItem(field: Field & { readonly kind: 'array' }, inputs: FieldInputs): unknown {
  const item = fieldOf(field.items, [...field.path, 0], inputs);
  if (item.fallback !== undefined && !isObject(item.fallback)) return item.fallback;
  if (item.kind === 'object' || item.kind === 'yaml') return {};
  if (item.kind === 'array') return [];
  if (item.kind === 'choice') return item.choices[0] ?? '';
  return item.kind === 'number' ? (item.minimum ?? 0) : '';
}
