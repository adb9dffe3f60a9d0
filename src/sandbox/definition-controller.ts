import type { KubeObject } from '../resources/kube-object.ts';
import { acceptNames } from './accepted-names.ts';
import { CLEANUP_FINALIZER, kindsOf } from './custom-kinds.ts';
import { definitionKind } from './built-in-kinds.ts';
import { isJsonObject, listAt, objectAt, sameJson, type JsonObject } from './json-value.ts';
import { resourceOf } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import { isFinal } from './object-parts.ts';
import type { ObjectRemover } from './object-remover.ts';
import { rfc3339 } from './rfc3339.ts';
import type { Storage, StoredEvent } from './storage.ts';
import type { Clock } from '../runtime/clock.ts';

const DEFINITIONS = resourceOf(definitionKind);

/** Serves the kinds of CustomResourceDefinitions, and deletes their instances before the definition goes. */
export class DefinitionController {
  readonly #storage: Storage;
  readonly #registry: KindRegistry;
  readonly #remover: ObjectRemover;
  readonly #clock: Clock;

  constructor(deps: {
    readonly storage: Storage;
    readonly registry: KindRegistry;
    readonly remover: ObjectRemover;
    readonly clock: Clock;
  }) {
    this.#storage = deps.storage;
    this.#registry = deps.registry;
    this.#remover = deps.remover;
    this.#clock = deps.clock;
  }

  /** At once, so that a kind is served as soon as the write of its definition is answered. */
  serve(event: StoredEvent): void {
    if (event.resource !== DEFINITIONS) return;
    const { name } = event.object.metadata;
    if (event.type === 'DELETED') this.#registry.unregister(name);
    else if (this.#mayServe(event.object)) this.#registry.register(name, kindsOf(event.object));
    if (event.type !== 'DELETED' && event.object.metadata.deletionTimestamp !== undefined) this.#registry.close(name);
  }

  /** Runs after the write that caused the event has been answered. */
  react(event: StoredEvent): void {
    if (event.resource === DEFINITIONS) {
      this.#reconcile(event.object.metadata.name);
      // Names that became free may be what another definition waits for.
      if (event.type === 'DELETED')
        for (const { metadata } of this.#storage.list(DEFINITIONS)) this.#reconcile(metadata.name);
    } else if (event.type === 'DELETED') this.#reconcile(event.resource);
  }

  #mayServe(definition: KubeObject): boolean {
    if (isEstablished(definition)) return true;
    return acceptNames(definition, this.#storage.list(DEFINITIONS)).conflict === undefined;
  }

  #reconcile(name: string): void {
    const definition = this.#storage.get(DEFINITIONS, undefined, name);
    if (definition === undefined) return;
    if (definition.metadata.deletionTimestamp !== undefined) this.#clean(definition);
    else this.#establish(definition);
  }

  #establish(definition: KubeObject): void {
    const spec = objectAt(definition, 'spec');
    const status = objectAt(definition, 'status');
    const storage = listAt(spec, 'versions').filter((version) => isJsonObject(version) && version['storage'] === true);
    const stored = new Set([
      ...listAt(status, 'storedVersions'),
      ...storage.map((version) => objectAt({ version }, 'version')['name']),
    ]);
    const { accepted, conflict } = acceptNames(definition, this.#storage.list(DEFINITIONS));
    const established = conflict === undefined || isEstablished(definition);
    const next = {
      conditions: [
        this.#condition(status, {
          type: 'NamesAccepted',
          status: conflict === undefined ? 'True' : 'False',
          ...(conflict ?? { reason: 'NoConflicts', message: 'no conflicts found' }),
        }),
        this.#condition(status, {
          type: 'Established',
          ...(established
            ? { status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' }
            : { status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }),
        }),
      ],
      acceptedNames: { kind: '', plural: '', ...accepted },
      storedVersions: [...stored],
    };
    const finalizers = definition.metadata.finalizers ?? [];
    const kept = finalizers.includes(CLEANUP_FINALIZER);
    if (kept && sameJson(next, status)) return;
    const metadata = kept
      ? definition.metadata
      : { ...definition.metadata, finalizers: [...finalizers, CLEANUP_FINALIZER] };
    this.#storage.put(DEFINITIONS, { ...definition, metadata, status: next });
  }

  #condition(status: JsonObject, now: { readonly type: string; readonly status: string } & JsonObject): JsonObject {
    const before = listAt(status, 'conditions').find(
      (condition) => isJsonObject(condition) && condition['type'] === now.type,
    );
    const since = isJsonObject(before) && before['status'] === now.status ? before['lastTransitionTime'] : undefined;
    return { lastTransitionTime: since ?? rfc3339(this.#clock.now()), ...now };
  }

  #clean(definition: KubeObject): void {
    const { name } = definition.metadata;
    const kind = this.#registry.byResource(name);
    if (kind !== undefined) {
      for (const object of this.#storage.list(name)) {
        if (object.metadata.deletionTimestamp !== undefined) continue;
        this.#remover.remove(kind, object.metadata.namespace, object.metadata.name, {
          policy: undefined,
          dryRun: false,
        });
      }
    }
    const current = this.#storage.get(DEFINITIONS, undefined, name);
    if (current === undefined || this.#storage.list(name).length > 0) return;
    const finalizers = (current.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
    const released = { ...current, metadata: { ...current.metadata, finalizers } };
    if (isFinal(released)) this.#storage.remove(DEFINITIONS, released);
    else if (finalizers.length !== (current.metadata.finalizers ?? []).length) this.#storage.put(DEFINITIONS, released);
  }
}

function isEstablished(definition: KubeObject): boolean {
  return listAt(definition['status'], 'conditions').some(
    (condition) => isJsonObject(condition) && condition['type'] === 'Established' && condition['status'] === 'True',
  );
}
