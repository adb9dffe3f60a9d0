import type { KubeObject, OwnerReference } from '../resources/kube-object.ts';
import type { KindRegistry } from './kind-registry.ts';
import { isFinal } from './object-parts.ts';
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER, type ObjectRemover } from './object-remover.ts';
import type { Storage, StoredEvent } from './storage.ts';

interface Dependent {
  readonly resource: string;
  readonly object: KubeObject;
}

/** Deletes what has lost all its owners, and carries out orphan and foreground deletion. */
export class GarbageCollector {
  readonly #storage: Storage;
  readonly #registry: KindRegistry;
  readonly #remover: ObjectRemover;
  /** UIDs of dependents by the UID of an owner. */
  readonly #dependents = new Map<string, Set<string>>();

  constructor(deps: { readonly storage: Storage; readonly registry: KindRegistry; readonly remover: ObjectRemover }) {
    this.#storage = deps.storage;
    this.#registry = deps.registry;
    this.#remover = deps.remover;
  }

  /** Runs after the write that caused the event has been answered. */
  react(event: StoredEvent): void {
    const { object, previous } = event;
    const { uid } = object.metadata;
    if (uid === undefined) return;
    for (const owner of previous?.metadata.ownerReferences ?? []) this.#forget(owner.uid, uid);
    if (event.type === 'DELETED') {
      for (const dependent of this.#dependentsOf(uid)) this.#collect(dependent);
      this.#dependents.delete(uid);
      for (const owner of object.metadata.ownerReferences ?? []) this.#finish(owner.uid);
      return;
    }
    for (const owner of object.metadata.ownerReferences ?? []) {
      const known = this.#dependents.get(owner.uid) ?? new Set();
      this.#dependents.set(owner.uid, known.add(uid));
    }
    const current = this.#storage.byUid(uid);
    if (current === undefined) return;
    this.#collect(current);
    this.#finish(uid);
  }

  #forget(owner: string, dependent: string): void {
    const known = this.#dependents.get(owner);
    known?.delete(dependent);
    if (known?.size === 0) this.#dependents.delete(owner);
  }

  #dependentsOf(uid: string): readonly Dependent[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#storage.byUid(dependent) ?? []);
  }

  /** Deletes an object none of whose owners is left; else drops the references to those that are gone. */
  #collect({ resource, object }: Dependent): void {
    const owners = object.metadata.ownerReferences ?? [];
    const kind = this.#registry.byResource(resource);
    if (owners.length === 0 || kind === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const left = owners.filter((owner) => this.#exists(owner, object));
    const { namespace, name, uid, resourceVersion } = object.metadata;
    if (left.length === owners.length || uid === undefined || resourceVersion === undefined) return;
    if (left.length === 0) {
      this.#remover.remove(kind, namespace, name, { uid, policy: 'Background', dryRun: false });
    } else {
      this.#storage.put(resource, { ...object, metadata: { ...object.metadata, ownerReferences: left } });
    }
  }

  /** An owner is in the dependent's namespace or in none, and it is the incarnation that the reference names. */
  #exists(owner: OwnerReference, dependent: KubeObject): boolean {
    const found = this.#storage.byUid(owner.uid);
    if (found === undefined) return false;
    const { object } = found;
    const group = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion.replace(/\/.*$/, '') : '');
    return (
      object.kind === owner.kind &&
      group(object.apiVersion) === group(owner.apiVersion) &&
      object.metadata.name === owner.name &&
      (object.metadata.namespace === undefined || object.metadata.namespace === dependent.metadata.namespace)
    );
  }

  /** Carries an orphan or foreground deletion of an owner as far as it goes now. */
  #finish(uid: string): void {
    const owner = this.#storage.byUid(uid);
    if (owner?.object.metadata.deletionTimestamp === undefined) return;
    const finalizers = owner.object.metadata.finalizers ?? [];
    if (finalizers.includes(ORPHAN_FINALIZER)) {
      for (const { resource, object } of this.#dependentsOf(uid)) {
        const ownerReferences = (object.metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
        this.#storage.put(resource, { ...object, metadata: { ...object.metadata, ownerReferences } });
      }
      this.#release(uid, ORPHAN_FINALIZER);
    } else if (finalizers.includes(FOREGROUND_FINALIZER)) {
      for (const { resource, object } of this.#dependentsOf(uid)) {
        const kind = this.#registry.byResource(resource);
        const { namespace, name, deletionTimestamp } = object.metadata;
        if (kind === undefined || deletionTimestamp !== undefined || this.#hasAnotherOwner(object, uid)) continue;
        this.#remover.remove(kind, namespace, name, { policy: 'Foreground', dryRun: false });
      }
      const blocking = this.#dependentsOf(uid).some(({ object }) =>
        (object.metadata.ownerReferences ?? []).some(
          (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
        ),
      );
      if (!blocking) this.#release(uid, FOREGROUND_FINALIZER);
    }
  }

  #hasAnotherOwner(object: KubeObject, uid: string): boolean {
    return (object.metadata.ownerReferences ?? []).some((owner) => {
      const found = this.#storage.byUid(owner.uid);
      return owner.uid !== uid && found !== undefined && found.object.metadata.deletionTimestamp === undefined;
    });
  }

  #release(uid: string, finalizer: string): void {
    const owner = this.#storage.byUid(uid);
    if (owner === undefined) return;
    const finalizers = (owner.object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    const released = { ...owner.object, metadata: { ...owner.object.metadata, finalizers } };
    if (isFinal(released)) this.#storage.remove(owner.resource, released);
    else this.#storage.put(owner.resource, released);
  }
}
