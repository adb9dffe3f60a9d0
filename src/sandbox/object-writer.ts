import type { Clock } from '../runtime/clock.ts';
import type { KubeObject, ObjectMeta } from '../resources/kube-object.ts';
import { applyConfiguration, trackUpdate } from './apply/field-managers.ts';
import { FieldSet } from './apply/field-set.ts';
import type { Manager } from './apply/managed-fields.ts';
import type { Admitted } from './admission/admission-step.ts';
import { checkAddress, decodeObject, defaulted, placeObject, readObject } from './decode-object.ts';
import { sameJson, type JsonObject } from './json-value.ts';
import { groupVersion, resourceOf, type Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import { strategyOf } from './kind-strategy.ts';
import { shownAs } from './listing.ts';
import { metadataFaults } from './metadata-rules.ts';
import { draftOf, identified } from './new-object.ts';
import { checkAbsent, checkVersion, isSet } from './object-version.ts';
import { checkNamespaceTakes } from './namespaces.ts';
import {
  deletionFaults,
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
import { alreadyExists, invalid, notFound, StatusError } from './status-error.ts';
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
  /** The options of the request as an admission webhook sees them: `fieldManager`, `dryRun`. */
  readonly sent?: JsonObject;
}

function optionsOf(kind: 'CreateOptions' | 'UpdateOptions', options: WriteOptions): JsonObject {
  return { kind, apiVersion: 'meta.k8s.io/v1', ...options.sent };
}

/** Given up by an endpoint: who writes the main resource never owns status, and the other way round. */
const MAIN_IGNORES = FieldSet.of([['f:status']]);
const NOTHING = new FieldSet();

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

  /** @throws StatusError 400, 403, 404 (its namespace), 405, 409, 422 */
  *create(kind: Kind, namespace: string | undefined, body: unknown, options: WriteOptions): Admitted<KubeObject> {
    // A POST alone: server-side apply makes new objects while the definition goes (customresource_handler.go).
    this.#registry.checkTakesNew(kind);
    const object = placeObject(kind, decodeObject(kind, body), namespace);
    if (isSet(object.metadata.resourceVersion)) {
      throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
    }
    const empty = emptyObject(kind);
    const manager = this.#manager(kind, '', 'Update', options);
    return yield* this.#insert(kind, object, options, (prepared) =>
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
  *update(
    address: Address,
    change: (live: KubeObject) => unknown,
    options: WriteOptions & {
      /** A PUT, whose UID is a precondition; a patch must leave the UID as it is. */
      readonly replaces: boolean;
    },
  ): Admitted<KubeObject> {
    const { kind, namespace, name, subresource } = address;
    for (;;) {
      const live = this.#live(address);
      const candidate = checkAddress(decodeObject(kind, change(live)), namespace, name);
      checkVersion(kind, live, candidate, options.replaces);
      const revived = subresource === '' ? deletionFaults(live.metadata, candidate.metadata) : [];
      if (revived.length > 0) throw invalid(kind, name, revived);
      if (kind.custom && !isSet(candidate.metadata.resourceVersion)) {
        const field = 'metadata.resourceVersion';
        const detail = 'must be specified for an update';
        throw invalid(kind, name, [{ reason: 'FieldValueInvalid', field, value: 0, detail }]);
      }
      const tracked = trackUpdate({
        structure: kind.structure,
        live,
        next: this.#prepared(kind, live, candidate, subresource),
        manager: this.#manager(kind, subresource, 'Update', options),
        time: this.#now(),
        ignored: subresource === '' && kind.hasStatus ? MAIN_IGNORES : NOTHING,
      });
      const stored = yield* this.#store(address, live, tracked, options);
      if (stored !== undefined) return stored;
    }
  }

  /** Server-side apply; `created` tells whether there was nothing before. @throws StatusError 400, 404, 409, 422 */
  *apply(
    address: Address,
    body: unknown,
    options: WriteOptions & { readonly force: boolean },
  ): Admitted<{ readonly object: KubeObject; readonly created: boolean }> {
    const { kind, namespace, name, subresource } = address;
    const config = checkAddress(readObject(kind, body), namespace, name);
    if (config.metadata.managedFields !== undefined) {
      throw new StatusError(400, 'BadRequest', 'metadata.managedFields must be nil');
    }
    kind.schema?.checkTyped(config);
    const ignored = subresource === '' && kind.hasStatus ? MAIN_IGNORES : NOTHING;
    const common = {
      structure: kind.structure,
      manager: this.#manager(kind, subresource, 'Apply', options),
      time: this.#now(),
      force: options.force,
      ignored,
    };
    for (;;) {
      if (this.#storage.get(resourceOf(kind), namespace, name) === undefined) {
        if (subresource !== '') throw notFound(kind, name);
        checkAbsent(kind, config);
        const object = yield* this.#insert(kind, defaulted(kind, scoped(kind, config, '')), options, (prepared) => ({
          ...prepared,
          metadata: {
            ...prepared.metadata,
            ...managed(applyConfiguration({ ...common, live: emptyObject(kind), config: scoped(kind, config, '') })),
          },
        }));
        return { object, created: true };
      }
      const live = this.#live(address);
      checkVersion(kind, live, config, false);
      const applied = applyConfiguration({ ...common, live, config: scoped(kind, config, subresource) });
      const next = this.#prepared(kind, live, defaulted(kind, applied), subresource);
      const object = yield* this.#store(address, live, next, options);
      if (object !== undefined) return { object, created: false };
    }
  }

  #live(address: Address): KubeObject {
    const { kind, namespace, name } = address;
    const stored = this.#storage.get(resourceOf(kind), namespace, name);
    if (stored === undefined) throw notFound(kind, name);
    return shownAs(kind, stored);
  }

  #manager(kind: Kind, subresource: Subresource, operation: Manager['operation'], options: WriteOptions): Manager {
    return { manager: options.manager, operation, apiVersion: groupVersion(kind), subresource };
  }

  #now(): string {
    return rfc3339(this.#clock.now());
  }

  *#insert(
    kind: Kind,
    object: KubeObject,
    options: WriteOptions,
    track: (prepared: KubeObject) => KubeObject,
  ): Admitted<KubeObject> {
    const { name: given, namespace } = object.metadata;
    if (kind.namespaced) checkNamespaceTakes(this.#storage, kind, namespace ?? '', given);
    const strategy = strategyOf(kind);
    const tracked = track(strategy.prepare(draftOf(kind, object), undefined));
    const step = { operation: 'CREATE', kind, namespace, subresource: '', oldObject: undefined } as const;
    const request = { ...step, dryRun: options.dryRun, options: optionsOf('CreateOptions', options) };
    const mutated = (yield { ...request, phase: 'mutating', name: given, object: tracked }) ?? tracked;
    const draft = mutated === tracked ? tracked : strategy.prepare(decodeObject(kind, mutated), undefined);
    const parts = { now: this.#clock.now(), uuid: this.#uuid, random: this.#random };
    // Once more, for what depends on a name that was only now made.
    const next = strategy.prepare(identified(kind, draft, parts), undefined);
    const { name } = next.metadata;
    const faults = [
      ...metadataFaults(kind, next),
      ...(kind.schema?.faults(next, undefined) ?? []),
      ...strategy.faults(next, undefined),
    ];
    if (faults.length > 0) throw invalid(kind, name, faults);
    yield { ...request, phase: 'validating', name, object: next };
    if (this.#storage.get(resourceOf(kind), namespace, name) !== undefined) throw alreadyExists(kind, name);
    checkSize(next);
    return options.dryRun ? next : this.#storage.put(resourceOf(kind), next);
  }

  #prepared(kind: Kind, live: KubeObject, candidate: KubeObject, subresource: Subresource): KubeObject {
    const kept = onlyWhatItWrites(kind, live, candidate, subresource);
    const next = { ...kept, metadata: withServerFields(kept.metadata, live.metadata) };
    return subresource === '' ? strategyOf(kind).prepare(next, live) : next;
  }

  /** `undefined` when the live object changed while a webhook was asked: the write is to be made up anew. */
  *#store(
    address: Address,
    live: KubeObject,
    tracked: KubeObject,
    options: WriteOptions,
  ): Admitted<KubeObject | undefined> {
    const { kind, namespace, name, subresource } = address;
    const step = { operation: 'UPDATE', kind, namespace, name, subresource, oldObject: live } as const;
    const request = { ...step, dryRun: options.dryRun, options: optionsOf('UpdateOptions', options) };
    const mutated = (yield { ...request, phase: 'mutating', object: tracked }) ?? tracked;
    const next = mutated === tracked ? tracked : this.#prepared(kind, live, decodeObject(kind, mutated), subresource);
    const faults = [
      ...metadataFaults(kind, next),
      ...finalizerFaults(live.metadata, next.metadata),
      ...((subresource === 'status' ? kind.schema?.statusFaults(next) : kind.schema?.faults(next, live)) ?? []),
      ...strategyOf(kind).faults(next, live),
    ];
    if (faults.length > 0) throw invalid(kind, next.metadata.name, faults);
    const bumped = kind.hasGeneration && desiredChanged(kind, live, next);
    const generation = bumped ? (live.metadata.generation ?? 0) + 1 : live.metadata.generation;
    const object = generation === undefined ? next : { ...next, metadata: { ...next.metadata, generation } };
    yield { ...request, phase: 'validating', object };
    const current = this.#storage.get(resourceOf(kind), namespace, name);
    if (current?.metadata.resourceVersion !== live.metadata.resourceVersion) return undefined;
    if (sameJson(withoutTimes(live), withoutTimes(object))) return live;
    checkSize(object);
    if (options.dryRun) return object;
    return isFinal(object)
      ? this.#storage.remove(resourceOf(kind), object)
      : this.#storage.put(resourceOf(kind), object);
  }
}

function managed(object: KubeObject): Pick<ObjectMeta, 'managedFields'> {
  const { managedFields } = object.metadata;
  return managedFields === undefined ? {} : { managedFields };
}
