import type { Clock } from '../runtime/clock.ts';
import type { KubeObject, ObjectMeta } from '../resources/kube-object.ts';
import { applyConfiguration, trackUpdate } from './apply/field-managers.ts';
import { FieldSet } from './apply/field-set.ts';
import type { Manager } from './apply/managed-fields.ts';
import { checkAddress, decodeObject, placeObject } from './decode-object.ts';
import { sameJson, stringAt } from './json-value.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import { strategyOf } from './kind-strategy.ts';
import { metadataFaults } from './metadata-rules.ts';
import { checkNamespaceTakes } from './namespaces.ts';
import {
  desiredChanged,
  emptyObject,
  finalizerFaults,
  isFinal,
  onlyWhatItWrites,
  scoped,
  withoutTimes,
  withServerFields,
  checkSize,
  type Subresource,
} from './object-parts.ts';
import { rfc3339 } from './rfc3339.ts';
import { alreadyExists, conflict, invalid, notFound, StatusError } from './status-error.ts';
import type { Storage } from './storage.ts';

/** Where a request points. `namespace` is set for namespaced kinds only. */
export interface Address {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: Subresource;
}

export interface WriteOptions {
  /** `fieldManager` of the request, or the first part of its User-Agent. */
  readonly manager: string;
  readonly dryRun: boolean;
}

/** Given up by an endpoint: who writes the main resource never owns status, and the other way round. */
const MAIN_IGNORES = FieldSet.of([['f:status']]);
const NOTHING = new FieldSet();
const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** Creates, updates and applies objects with the checks and the bookkeeping that the real server does. */
export class ObjectWriter {
  readonly #storage: Storage;
  readonly #registry: KindRegistry;
  readonly #clock: Clock;
  readonly #uuid: () => string;
  readonly #random: () => number;

  constructor(deps: {
    readonly storage: Storage;
    readonly registry: KindRegistry;
    readonly clock: Clock;
    readonly uuid: () => string;
    readonly random: () => number;
  }) {
    this.#storage = deps.storage;
    this.#registry = deps.registry;
    this.#clock = deps.clock;
    this.#uuid = deps.uuid;
    this.#random = deps.random;
  }

  /** @throws StatusError 400, 403, 404 (its namespace), 409, 422 */
  create(kind: Kind, namespace: string | undefined, body: unknown, options: WriteOptions): KubeObject {
    const object = placeObject(kind, decodeObject(kind, body), namespace);
    if (isSet(object.metadata.resourceVersion)) {
      throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
    }
    const { name } = object.metadata;
    const generateName = stringAt(object.metadata, 'generateName');
    const named = name === '' && generateName !== undefined ? this.#generated(object, generateName) : object;
    const empty = emptyObject(kind);
    const manager = this.#manager(kind, '', 'Update', options);
    return this.#insert(kind, this.#initial(kind, named), options, (prepared) =>
      trackUpdate({
        structure: kind.structure,
        live: empty,
        next: prepared,
        manager,
        time: this.#now(),
        ignored: kind.hasStatus ? MAIN_IGNORES : NOTHING,
      }),
    );
  }

  /**
   * Replaces an object, or one part of it, by what `change` makes of the live one.
   *
   * @param change gives the whole candidate, from a body or a patch
   * @throws StatusError 400, 404, 409, 422
   */
  update(
    address: Address,
    change: (live: KubeObject) => unknown,
    options: WriteOptions & {
      /** A PUT, whose UID is a precondition; a patch must leave the UID as it is. */
      readonly replaces: boolean;
    },
  ): KubeObject {
    const { kind, namespace, name, subresource } = address;
    const live = this.#live(address);
    const candidate = checkAddress(decodeObject(kind, change(live)), namespace, name);
    this.#checkVersion(kind, live, candidate, options.replaces);
    if (kind.custom && !isSet(candidate.metadata.resourceVersion)) {
      const field = 'metadata.resourceVersion';
      const detail = 'must be specified for an update';
      throw invalid(kind, name, [{ reason: 'FieldValueInvalid', field, value: 0, detail }]);
    }
    const next = this.#prepared(kind, live, candidate, subresource);
    const tracked = trackUpdate({
      structure: kind.structure,
      live,
      next,
      manager: this.#manager(kind, subresource, 'Update', options),
      time: this.#now(),
      ignored: subresource === '' && kind.hasStatus ? MAIN_IGNORES : NOTHING,
    });
    return this.#store(kind, live, tracked, options);
  }

  /** Server-side apply; `created` tells whether there was nothing before. @throws StatusError 400, 404, 409, 422 */
  apply(
    address: Address,
    body: unknown,
    options: WriteOptions & { readonly force: boolean },
  ): { readonly object: KubeObject; readonly created: boolean } {
    const { kind, namespace, name, subresource } = address;
    const config = checkAddress(decodeObject(kind, body), namespace, name);
    if (config.metadata.managedFields !== undefined) {
      throw new StatusError(400, 'BadRequest', 'metadata.managedFields must be nil');
    }
    const ignored = subresource === '' && kind.hasStatus ? MAIN_IGNORES : NOTHING;
    const common = {
      structure: kind.structure,
      manager: this.#manager(kind, subresource, 'Apply', options),
      time: this.#now(),
      force: options.force,
      ignored,
    };
    const stored = this.#storage.get(resourceOf(kind), namespace, name);
    if (stored === undefined) {
      if (subresource !== '') throw notFound(kind, name);
      this.#checkAbsent(kind, config);
      const initial = this.#initial(kind, scoped(kind, config, ''));
      const object = this.#insert(kind, initial, options, (prepared) => ({
        ...prepared,
        metadata: {
          ...prepared.metadata,
          ...managed(applyConfiguration({ ...common, live: emptyObject(kind), config: scoped(kind, config, '') })),
        },
      }));
      return { object, created: true };
    }
    const live = this.#live(address);
    this.#checkVersion(kind, live, config, false);
    const applied = applyConfiguration({ ...common, live, config: scoped(kind, config, subresource) });
    const next = this.#prepared(kind, live, applied, subresource);
    return { object: this.#store(kind, live, next, options), created: false };
  }

  #live(address: Address): KubeObject {
    const { kind, namespace, name } = address;
    const stored = this.#storage.get(resourceOf(kind), namespace, name);
    if (stored === undefined) throw notFound(kind, name);
    return { ...stored, apiVersion: groupVersion(kind) };
  }

  #manager(kind: Kind, subresource: Subresource, operation: Manager['operation'], options: WriteOptions): Manager {
    return { manager: options.manager, operation, apiVersion: groupVersion(kind), subresource };
  }

  #now(): string {
    return rfc3339(this.#clock.now());
  }

  #generated(object: KubeObject, base: string): KubeObject {
    const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
    const suffix = Array.from({ length: 5 }, () => alphabet.charAt(Math.floor(this.#random() * alphabet.length)));
    return { ...object, metadata: { ...object.metadata, name: `${base.slice(0, 58)}${suffix.join('')}` } };
  }

  #initial(kind: Kind, object: KubeObject): KubeObject {
    const { uid: _, resourceVersion: __, deletionTimestamp: ___, ...metadata } = object.metadata;
    const { status: ____, ...rest } = object;
    return {
      ...(kind.hasStatus ? rest : object),
      apiVersion: object.apiVersion,
      kind: object.kind,
      metadata: {
        ...metadata,
        uid: this.#uuid(),
        creationTimestamp: this.#now(),
        ...(kind.hasGeneration ? { generation: 1 } : {}),
      },
    };
  }

  #insert(
    kind: Kind,
    object: KubeObject,
    options: WriteOptions,
    track: (prepared: KubeObject) => KubeObject,
  ): KubeObject {
    const { name, namespace } = object.metadata;
    if (name === '') {
      const detail = 'name or generateName is required';
      throw invalid(kind, '', [{ reason: 'FieldValueRequired', field: 'metadata.name', detail }]);
    }
    if (kind.namespaced) checkNamespaceTakes(this.#storage, kind, namespace ?? '', name);
    const strategy = strategyOf(kind);
    const prepared = strategy.prepare(object, undefined);
    const faults = [...metadataFaults(kind, prepared), ...strategy.faults(prepared, undefined)];
    if (faults.length > 0) throw invalid(kind, name, faults);
    this.#registry.checkTakesNew(kind);
    if (this.#storage.get(resourceOf(kind), namespace, name) !== undefined) throw alreadyExists(kind, name);
    const tracked = track(prepared);
    checkSize(tracked);
    return options.dryRun ? tracked : this.#storage.put(resourceOf(kind), tracked);
  }

  #checkAbsent(kind: Kind, config: KubeObject): void {
    const { name, uid } = config.metadata;
    if (uid === undefined) return;
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(kind, name, why);
  }

  #checkVersion(kind: Kind, live: KubeObject, candidate: KubeObject, replaces: boolean): void {
    const { name, resourceVersion, uid } = candidate.metadata;
    if (uid !== undefined && uid !== live.metadata.uid) {
      if (!replaces) {
        const detail = 'field is immutable';
        throw invalid(kind, name, [{ reason: 'FieldValueInvalid', field: 'metadata.uid', value: uid, detail }]);
      }
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
      throw conflict(kind, name, why);
    }
    if (isSet(resourceVersion) && resourceVersion !== live.metadata.resourceVersion) {
      throw conflict(kind, name, MODIFIED);
    }
  }

  #prepared(kind: Kind, live: KubeObject, candidate: KubeObject, subresource: Subresource): KubeObject {
    const kept = onlyWhatItWrites(kind, live, candidate, subresource);
    const next = { ...kept, metadata: withServerFields(kept.metadata, live.metadata) };
    return subresource === '' ? strategyOf(kind).prepare(next, live) : next;
  }

  #store(kind: Kind, live: KubeObject, next: KubeObject, options: WriteOptions): KubeObject {
    const faults = [
      ...metadataFaults(kind, next),
      ...finalizerFaults(live.metadata, next.metadata),
      ...strategyOf(kind).faults(next, live),
    ];
    if (faults.length > 0) throw invalid(kind, next.metadata.name, faults);
    if (sameJson(withoutTimes(live), withoutTimes(next))) return live;
    const bumped = kind.hasGeneration && desiredChanged(kind, live, next);
    const generation = bumped ? (live.metadata.generation ?? 0) + 1 : live.metadata.generation;
    const object = generation === undefined ? next : { ...next, metadata: { ...next.metadata, generation } };
    checkSize(object);
    if (options.dryRun) return object;
    return isFinal(object)
      ? this.#storage.remove(resourceOf(kind), object)
      : this.#storage.put(resourceOf(kind), object);
  }
}

/** `0` is the same as none. */
function isSet(resourceVersion: string | undefined): boolean {
  return resourceVersion !== undefined && resourceVersion !== '0';
}

function managed(object: KubeObject): Pick<ObjectMeta, 'managedFields'> {
  const { managedFields } = object.metadata;
  return managedFields === undefined ? {} : { managedFields };
}
