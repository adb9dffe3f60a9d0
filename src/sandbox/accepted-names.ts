import type { KubeObject } from '../resources/kube-object.ts';
import { listAt, objectAt, stringAt, type JsonObject } from './json-value.ts';

export interface NameConflict {
  readonly reason: string;
  readonly message: string;
}

export interface NamesOutcome {
  readonly accepted: JsonObject;
  readonly conflict: NameConflict | undefined;
}

/** Which of the names that a definition asks for are free in its group; the last conflict found is the one told. */
export function acceptNames(definition: KubeObject, others: readonly KubeObject[]): NamesOutcome {
  const spec = objectAt(definition, 'spec');
  const wanted = objectAt(spec, 'names');
  const taken = others
    .filter((other) => other.metadata.name !== definition.metadata.name)
    .filter((other) => stringAt(other['spec'], 'group') === stringAt(spec, 'group'))
    .map((other) => objectAt(other['status'], 'acceptedNames'));
  const names = new Set(
    taken.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...listAt({ shortNames }, 'shortNames')]),
  );
  const kinds = new Set(taken.flatMap(({ kind, listKind }) => [kind, listKind]));
  const before = objectAt(objectAt(definition, 'status'), 'acceptedNames');
  const accepted: JsonObject = { ...before };
  let conflict: NameConflict | undefined;
  const rows = [
    ['plural', names, 'PluralConflict'],
    ['singular', names, 'SingularConflict'],
    ['kind', kinds, 'KindConflict'],
    ['listKind', kinds, 'ListKindConflict'],
  ] as const;
  const take = (field: string, used: ReadonlySet<unknown>, reason: string): void => {
    const value = wanted[field];
    if (value === before[field]) return;
    if (used.has(value)) conflict = { reason, message: `${JSON.stringify(value)} is already in use` };
    else accepted[field] = value;
  };
  for (const [field, used, reason] of rows.slice(0, 2)) take(field, used, reason);
  const shortNames = listAt(wanted, 'shortNames');
  const clashes = shortNames.filter((name) => !listAt(before, 'shortNames').includes(name) && names.has(name));
  if (clashes.length > 0) {
    const message = clashes.map((name) => `${JSON.stringify(name)} is already in use`).join(', ');
    conflict = { reason: 'ShortNamesConflict', message };
  } else if (wanted['shortNames'] === undefined) delete accepted['shortNames'];
  else accepted['shortNames'] = shortNames;
  for (const [field, used, reason] of rows.slice(2)) take(field, used, reason);
  if (wanted['categories'] === undefined) delete accepted['categories'];
  else accepted['categories'] = wanted['categories'];
  return { accepted, conflict };
}
