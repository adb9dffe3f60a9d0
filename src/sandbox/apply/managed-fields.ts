import type { ManagedFieldsEntry } from '../../resources/kube-object.ts';
import { isJsonObject } from '../json-value.ts';
import { FieldSet } from './field-set.ts';

export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
}

export interface Ownership extends Manager {
  readonly fields: FieldSet;
  readonly time: string;
}

/** Who owns what, by manager. An applier is the same manager in whatever version it applies. */
export type Owners = ReadonlyMap<string, Ownership>;

/** Update managers beyond this many are folded into one, oldest first, as the real server does. */
const MAX_UPDATE_MANAGERS = 10;

const FOLDED_MANAGER = 'ancient-changes';

export function managerKey(manager: Manager): string {
  const version = manager.operation === 'Apply' ? '' : manager.apiVersion;
  return JSON.stringify([manager.operation, manager.subresource, version, manager.manager]);
}

/** `undefined` when an entry is not one, so that a client's broken list is not taken for an empty one. */
export function decodeOwners(entries: unknown): Owners | undefined {
  if (!Array.isArray(entries)) return undefined;
  const owners = new Map<string, Ownership>();
  for (const entry of entries) {
    if (!isJsonObject(entry)) return undefined;
    const { manager, operation, apiVersion, subresource, time, fieldsV1 } = entry;
    if (operation !== 'Apply' && operation !== 'Update') return undefined;
    const owner: Ownership = {
      manager: typeof manager === 'string' ? manager : '',
      operation,
      apiVersion: typeof apiVersion === 'string' ? apiVersion : '',
      subresource: typeof subresource === 'string' ? subresource : '',
      time: typeof time === 'string' ? time : '',
      fields: FieldSet.fromFieldsV1(fieldsV1),
    };
    owners.set(managerKey(owner), owner);
  }
  return owners;
}

function inWireOrder(left: Ownership, right: Ownership): number {
  const key = (owner: Ownership): readonly string[] => [
    owner.operation,
    owner.time,
    owner.manager,
    owner.apiVersion,
    owner.subresource,
  ];
  const [lefts, rights] = [key(left), key(right)];
  for (const [index, value] of lefts.entries()) {
    const other = rights[index] ?? '';
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}

function foldOldUpdates(sorted: readonly Ownership[]): readonly Ownership[] {
  const updates = sorted.filter((owner) => owner.operation === 'Update');
  if (updates.length <= MAX_UPDATE_MANAGERS) return sorted;
  const old = new Set(updates.slice(0, updates.length - MAX_UPDATE_MANAGERS + 1));
  const folded = new Map<string, Ownership>();
  for (const owner of old) {
    const before = folded.get(owner.apiVersion);
    const fields = before === undefined ? owner.fields : before.fields.union(owner.fields);
    folded.set(owner.apiVersion, { ...owner, manager: FOLDED_MANAGER, subresource: '', fields });
  }
  return [...sorted.filter((owner) => !old.has(owner)), ...folded.values()].toSorted(inWireOrder);
}

export function encodeOwners(owners: Owners): ManagedFieldsEntry[] {
  const kept = [...owners.values()].filter((owner) => !owner.fields.isEmpty).toSorted(inWireOrder);
  return foldOldUpdates(kept).map((owner) => ({
    manager: owner.manager,
    operation: owner.operation,
    apiVersion: owner.apiVersion,
    ...(owner.time === '' ? {} : { time: owner.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: owner.fields.toFieldsV1(),
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  }));
}
