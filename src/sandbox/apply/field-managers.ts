import type { KubeObject } from '../../resources/kube-object.ts';
import { isJsonObject, sameJson } from '../json-value.ts';
import { StatusError } from '../status-error.ts';
import type { Structure } from '../structure.ts';
import { compareFields, fieldsOf, type Comparison } from './compare.ts';
import { FieldSet, pathText, type PathElement } from './field-set.ts';
import { decodeOwners, encodeOwners, managerKey, type Manager, type Owners, type Ownership } from './managed-fields.ts';
import { mergeApplied, removeFields } from './merge.ts';
import { DuplicateItem } from './walk.ts';

/** Nobody owns what the server itself sets, nor what identifies the object. */
const UNOWNED = FieldSet.of([
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((field) => ['f:metadata', `f:${field}`]),
]);

/** `metadata.managedFields: [{}]` in a write gives up all ownership until the next apply. */
function isReset(entries: unknown): boolean {
  return (
    Array.isArray(entries) && entries.length === 1 && isJsonObject(entries[0]) && Object.keys(entries[0]).length === 0
  );
}

function withoutOwners(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function withOwners(object: KubeObject, owners: Owners): KubeObject {
  const managedFields = encodeOwners(owners);
  const bare = withoutOwners(object);
  return managedFields.length === 0 ? bare : { ...bare, metadata: { ...bare.metadata, managedFields } };
}

interface Conflict {
  readonly owner: Ownership;
  readonly path: readonly PathElement[];
}

/** Takes the changed fields away from every other manager; says which they were. */
function dispossess(owners: Owners, self: string, changes: Comparison): { owners: Owners; conflicts: Conflict[] } {
  const taken = changes.modified.union(changes.added);
  const conflicts: Conflict[] = [];
  const result = new Map<string, Ownership>();
  for (const [key, owner] of owners) {
    if (key === self) {
      result.set(key, owner);
      continue;
    }
    const lost = owner.fields.intersection(taken);
    for (const path of lost.paths()) conflicts.push({ owner, path });
    result.set(key, { ...owner, fields: owner.fields.difference(lost).difference(changes.removed) });
  }
  return { owners: result, conflicts };
}

function managerText(owner: Ownership): string {
  const name = `${JSON.stringify(owner.manager)}${owner.subresource === '' ? '' : ` with subresource ${JSON.stringify(owner.subresource)}`}`;
  return owner.operation === 'Update' ? `${name} using ${owner.apiVersion}` : name;
}

function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const lines = conflicts.map(({ owner, path }) => ({ manager: managerText(owner), field: pathText(path) }));
  const [only] = lines;
  const grouped = Map.groupBy(lines, (line) => line.manager);
  const text =
    lines.length === 1 && only !== undefined
      ? `1 conflict: conflict with ${only.manager}: ${only.field}`
      : `${lines.length} conflicts: ${[...grouped]
          .toSorted(([left], [right]) => (left < right ? -1 : 1))
          .flatMap(([manager, fields]) => [`conflicts with ${manager}:`, ...fields.map(({ field }) => `- ${field}`)])
          .join('\n')}`;
  const causes = lines.map(({ manager, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field,
  }));
  return new StatusError(409, 'Conflict', `Apply failed with ${text}`, { causes });
}

/** A create, update or patch by `manager`: it owns what it added or changed, and nobody owns what it removed. */
export function trackUpdate(input: {
  readonly structure: Structure;
  readonly live: KubeObject;
  readonly next: KubeObject;
  readonly manager: Manager;
  readonly time: string;
  /** Fields this endpoint does not write. */
  readonly ignored: FieldSet;
}): KubeObject {
  const { structure, live, next, manager, ignored } = input;
  if (isReset(next.metadata.managedFields)) return withoutOwners(next);
  const sent = decodeOwners(next.metadata.managedFields);
  const known = sent === undefined || sent.size === 0 ? (decodeOwners(live.metadata.managedFields) ?? new Map()) : sent;
  // After a reset nothing is tracked until somebody applies.
  if (known.size === 0 && live.metadata.uid !== undefined) return withoutOwners(next);
  const self = managerKey(manager);
  const changes = compareFields(structure, withoutOwners(live), withoutOwners(next));
  const owners = new Map(dispossess(known, self, changes).owners);
  const before = owners.get(self);
  const own = changes.added.union(changes.modified).difference(UNOWNED).recursiveDifference(ignored);
  const kept = before?.fields.difference(changes.removed) ?? new FieldSet();
  owners.set(self, {
    ...manager,
    time: own.isEmpty && before !== undefined ? before.time : input.time,
    fields: kept.union(own),
  });
  return withOwners(next, owners);
}

/**
 * Server-side apply (KEP-555): merges the configuration into the live object, takes out what this manager
 * owned before and no longer sends and nobody else owns, and refuses to change others' fields unless forced.
 *
 * @throws StatusError 409 `Conflict` with one `FieldManagerConflict` cause a field
 */
export function applyConfiguration(input: {
  readonly structure: Structure;
  readonly live: KubeObject;
  readonly config: KubeObject;
  readonly manager: Manager;
  readonly time: string;
  readonly force: boolean;
  readonly ignored: FieldSet;
}): KubeObject {
  const { structure, config, manager, ignored } = input;
  const known = ownersBeforeApply(input);
  const live = withoutOwners(input.live);
  const self = managerKey(manager);
  const before = known.get(self);
  try {
    const fields = fieldsOf(structure, config, true).difference(UNOWNED).recursiveDifference(ignored);
    const owners = new Map(known).set(self, { ...manager, time: before?.time ?? input.time, fields });
    const merged = mergeApplied(structure, live, config);
    const next = before === undefined ? merged : prune(structure, merged, before.fields, owners);
    // The endpoint's own objects always keep these members, whatever was pruned.
    const object = next as KubeObject;
    const changes = compareFields(structure, live, object);
    const { owners: left, conflicts } = dispossess(owners, self, changes);
    if (conflicts.length > 0 && !input.force) throw applyConflict(conflicts);
    const unchanged = sameJson(live, object) && sameOwners(known, left);
    const own = left.get(self);
    if (!unchanged && own !== undefined)
      return withOwners(object, new Map(left).set(self, { ...own, time: input.time }));
    return withOwners(object, left);
  } catch (error) {
    if (!(error instanceof DuplicateItem)) throw error;
    throw new StatusError(500, '', `failed to create typed patch object: ${error.message}`);
  }
}

/** An object that nobody is known to own belongs, up to the first apply, to a manager of that name. */
function ownersBeforeApply(input: {
  readonly structure: Structure;
  readonly live: KubeObject;
  readonly manager: Manager;
  readonly time: string;
}): Owners {
  const { structure, live, manager, time } = input;
  const known = decodeOwners(live.metadata.managedFields) ?? new Map<string, Ownership>();
  if (known.size > 0 || live.metadata.uid === undefined) return known;
  const before: Manager = { ...manager, manager: 'before-first-apply', operation: 'Update', subresource: '' };
  const empty = { apiVersion: live.apiVersion, kind: live.kind, metadata: {} };
  const fields = compareFields(structure, empty, withoutOwners(live)).added.difference(UNOWNED);
  return new Map([[managerKey(before), { ...before, time, fields }]]);
}

function sameOwners(left: Owners, right: Owners): boolean {
  return sameJson(encodeOwners(left), encodeOwners(right));
}

function prune(structure: Structure, merged: unknown, last: FieldSet, owners: Owners): unknown {
  const all = fieldsOf(structure, merged);
  const lastNamed = last.withNamedFields(structure);
  const pruned = fieldsOf(structure, removeFields(structure, merged, lastNamed));
  let owned = new FieldSet();
  for (const owner of owners.values()) owned = owned.union(owner.fields);
  // First what others (and the new configuration) own comes back, then what nobody owns under a removed item.
  const gone = all
    .withNamedFields(structure)
    .difference(pruned.withNamedFields(structure))
    .difference(owned.withNamedFields(structure));
  const second = removeFields(structure, merged, gone);
  const dangling = all.difference(fieldsOf(structure, second)).intersection(last);
  return removeFields(structure, merged, dangling);
}
