import { array, assert, constantFrom, dictionary, integer, property, record, uniqueArray } from 'fast-check';
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { applyConfiguration, trackUpdate } from '../../../src/sandbox/apply/field-managers.ts';
import { FieldSet } from '../../../src/sandbox/apply/field-set.ts';
import type { Manager } from '../../../src/sandbox/apply/managed-fields.ts';
import { mergedOrder } from '../../../src/sandbox/apply/merge.ts';
import { atomic, keyed, metadataStructure, object, set, untyped } from '../../../src/sandbox/structure.ts';

const structure = object({
  apiVersion: untyped,
  kind: untyped,
  metadata: metadataStructure,
  spec: object({ size: untyped, map: object({}), tags: set, list: atomic, ports: keyed(['port']) }),
});
const identity = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' } };
const empty: KubeObject = { ...identity };
const ignored = new FieldSet();

function manager(name: string, operation: Manager['operation'] = 'Apply'): Manager {
  return { manager: name, operation, apiVersion: 'v1', subresource: '' };
}

function apply(live: KubeObject, name: string, spec: unknown, force = true, time = '2026-01-01T00:00:00Z'): KubeObject {
  const config = { ...identity, spec };
  return applyConfiguration({ structure, live, config, manager: manager(name), time, force, ignored });
}

const spec = record(
  {
    size: integer({ min: 0, max: 2 }),
    map: dictionary(constantFrom('a', 'b', 'c'), integer({ min: 0, max: 2 }), { noNullPrototype: true }),
    // Sorted, so that two configurations never differ in order alone.
    tags: uniqueArray(constantFrom('x', 'y', 'z')).map((tags) => tags.toSorted()),
    list: array(integer({ min: 0, max: 1 }), { maxLength: 2 }),
    ports: uniqueArray(
      record({ port: integer({ min: 1, max: 3 }), name: constantFrom('p', 'q') }, { noNullPrototype: true }),
      {
        selector: ({ port }) => port,
      },
    ).map((ports) => ports.toSorted((left, right) => left.port - right.port)),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const steps = array(record({ name: constantFrom('a', 'b'), spec }), { minLength: 1, maxLength: 6 });

it('changes nothing when the same configuration is applied again, later', () => {
  assert(
    property(steps, (steps) => {
      const live = steps.reduce((object, step) => apply(object, step.name, step.spec), empty);
      const last = steps.at(-1);
      expect(apply(live, last?.name ?? '', last?.spec, false, '2027-01-01T00:00:00Z')).toEqual(live);
    }),
  );
});

it('leaves one applier with exactly its last configuration', () => {
  assert(
    property(array(spec, { minLength: 1, maxLength: 5 }), (specs) => {
      const live = specs.reduce<KubeObject>((object, spec) => apply(object, 'only', spec), empty);
      const fresh = apply(empty, 'only', specs.at(-1));
      // A map or list that lost all its parts stays behind empty; it counts as absent here.
      const filled = (object: KubeObject): unknown =>
        Object.entries(object['spec'] ?? {}).filter(
          ([field, value]) => field === 'list' || typeof value !== 'object' || Object.keys(value as object).length > 0,
        );
      expect(new Map(filled(live) as never)).toEqual(new Map(filled(fresh) as never));
    }),
  );
});

it('never changes a field of another manager unforced', () => {
  assert(
    property(spec, spec, (first, second) => {
      const live = apply(empty, 'a', first);
      try {
        const next = apply(live, 'b', second, false);
        // Whatever `a` applied is still as it was applied.
        expect(apply(next, 'a', first, false)['spec']).toEqual(next['spec']);
      } catch (error) {
        expect(error).toMatchObject({ code: 409, reason: 'Conflict' });
      }
    }),
  );
});

it('gives a create’s manager the fields it set, and a removal to nobody', () => {
  const time = '2026-01-01T00:00:00Z';
  const next: KubeObject = { ...identity, spec: { size: 1, map: { a: 1 } } };
  const created = trackUpdate({ structure, live: empty, next, manager: manager('m', 'Update'), time, ignored });
  expect(created.metadata.managedFields).toEqual([
    {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'v1',
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { '.': {}, 'f:map': { '.': {}, 'f:a': {} }, 'f:size': {} } },
    },
  ]);
  const removed: KubeObject = { ...created, spec: { map: { a: 1 } } };
  const later = { structure, live: created, next: removed, manager: manager('n', 'Update'), time, ignored };
  expect(trackUpdate(later).metadata.managedFields).toMatchObject([
    { manager: 'm', fieldsV1: { 'f:spec': { '.': {}, 'f:map': { '.': {}, 'f:a': {} } } } },
  ]);
});

it('gives up all ownership for managedFields of one empty entry', () => {
  const live = apply(empty, 'a', { size: 1 });
  const next = { ...live, metadata: { ...live.metadata, managedFields: [{}] } };
  const time = '2026-01-01T00:00:00Z';
  const reset = trackUpdate({ structure, live, next, manager: manager('m', 'Update'), time, ignored });
  expect(reset.metadata.managedFields).toBeUndefined();
});

it('folds the oldest update managers together beyond ten', () => {
  let live = empty;
  for (let index = 0; index < 14; index += 1) {
    const next: KubeObject = {
      ...live,
      spec: { map: { ...(live['spec'] as { map: object } | undefined)?.map, [`k${index}`]: 1 } },
    };
    const time = `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`;
    live = trackUpdate({ structure, live, next, manager: manager(`m${index}`, 'Update'), time, ignored });
  }
  const managers = live.metadata.managedFields?.map((entry) => entry.manager) ?? [];
  expect(managers).toHaveLength(10);
  expect(managers[0]).toBe('ancient-changes');
});

it('keeps the live order of a list around what the configuration orders', () => {
  expect(mergedOrder(['a', 'b'], ['c'])).toEqual(['a', 'b', 'c']);
  expect(mergedOrder(['a', 'x', 'b'], ['b', 'a'])).toEqual(['b', 'a', 'x']);
  expect(mergedOrder(['l', 'a', 'm', 'b'], ['a', 'n', 'b'])).toEqual(['l', 'a', 'm', 'n', 'b']);
});

it('refuses two items with one key', () => {
  expect(() => apply(empty, 'a', { ports: [{ port: 1 }, { port: 1 }] })).toThrow(
    'duplicate entries for key {"port":1}',
  );
});
