import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';

/**
 * Reads its own writes. A watch runs behind, so a pass that follows a write may still see the object from before it, and
 * would decide, write and report once more. What was written last is kept here until the watch has caught up.
 */
export class FreshObjects {
  readonly #written = new Map<string, KubeObject>();

  /** After a write: the object as the API server answered it. */
  note(object: KubeObject): void {
    this.#written.set(keyOf(object, object.metadata), object);
  }

  /** After a deletion, or when a watch saw the object go. */
  forget(ref: ObjectRef): void {
    this.#written.delete(keyOf(ref, ref));
  }

  /** The newer one of the watch's object and what was written last. `watch.version`: as far as the watch has come. */
  newest<T extends KubeObject>(
    ref: ObjectRef,
    watch: { readonly object: T | undefined; readonly version: string | undefined },
  ): T | undefined {
    const key = keyOf(ref, ref);
    const written = this.#written.get(key) as T | undefined;
    const { object: watched } = watch;
    if (written === undefined) return watched;
    if (watched === undefined) {
      if (isBefore(watch.version, written)) return written;
      // The watch is past the write and does not hold the object: it is gone. Events of one kind come in their order.
      this.#written.delete(key);
      return undefined;
    }
    if (isNewer(written, watched)) return written;
    this.#written.delete(key);
    return watched;
  }
}

function isBefore(version: string | undefined, written: KubeObject): boolean {
  // None: the watch starts anew.
  return version === undefined || Number(version) < Number(written.metadata.resourceVersion);
}

/** resourceVersions of one kind can be ordered as numbers (Kubernetes API concepts, "Resource versions"; KEP-5504). */
function isNewer(a: KubeObject, b: KubeObject): boolean {
  return Number(a.metadata.resourceVersion) > Number(b.metadata.resourceVersion);
}

function keyOf(kind: { readonly kind: string }, names: { readonly namespace?: string; readonly name: string }): string {
  return `${kind.kind}/${names.namespace ?? ''}/${names.name}`;
}
