import type { Structure } from '../structure.ts';
import { elementStructure, type FieldSet, type PathElement } from './field-set.ts';
import { assemble, partsOf } from './walk.ts';

/** The live value with the configuration laid over it; what the configuration does not name stays. */
export function mergeApplied(structure: Structure, live: unknown, config: unknown): unknown {
  if (live === undefined) return config;
  if (config === undefined) return live;
  const lives = partsOf(structure, live);
  const configs = partsOf(structure, config, true);
  if (lives === undefined || configs === undefined || lives.kind !== configs.kind) return config;
  const merged = (element: PathElement): [PathElement, unknown] => [
    element,
    mergeApplied(elementStructure(structure, element), lives.entries.get(element), configs.entries.get(element)),
  ];
  const order =
    lives.kind === 'fields'
      ? [...new Set([...lives.entries.keys(), ...configs.entries.keys()])]
      : mergedOrder([...lives.entries.keys()], [...configs.entries.keys()]);
  return assemble(lives.kind, order.map(merged));
}

/** The configuration's order wins among what it names; items only the live list has keep their place before the next shared one. */
export function mergedOrder(live: readonly PathElement[], config: readonly PathElement[]): readonly PathElement[] {
  const wanted = new Set(config);
  const result: PathElement[] = [];
  const taken = new Set<PathElement>();
  let next = 0;
  const takeLiveOnly = (): void => {
    for (; next < live.length; next += 1) {
      const element = live[next];
      if (element === undefined || taken.has(element)) continue;
      if (wanted.has(element)) return;
      result.push(element);
    }
  };
  for (const element of config) {
    takeLiveOnly();
    result.push(element);
    taken.add(element);
  }
  takeLiveOnly();
  return result;
}

/** The value without the fields of the set. A map or list that loses all its parts stays, empty. */
export function removeFields(structure: Structure, value: unknown, remove: FieldSet): unknown {
  const parts = partsOf(structure, value);
  if (parts === undefined) return value;
  const kept: [PathElement, unknown][] = [];
  for (const [element, member] of parts.entries) {
    if (remove.has(element)) continue;
    const below = remove.below(element);
    kept.push([
      element,
      below === undefined ? member : removeFields(elementStructure(structure, element), member, below),
    ]);
  }
  return assemble(parts.kind, kept);
}
