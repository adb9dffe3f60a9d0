import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER, TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import type { Pass } from './pass.ts';

/**
 * Deletes one incarnation of an object. Annotated first, where that is still to do: so that its controller knows that the
 * end is meant, and uninstalls what was made of it.
 *
 * @throws KubeError
 */
export async function askToGo(
  pass: Pass,
  live: KubeObject | undefined,
  end: { readonly ref: ObjectRef; readonly uid: string; readonly tombstone?: string },
  signal: AbortSignal,
): Promise<void> {
  const { api } = pass.deps;
  if (end.tombstone !== undefined) {
    const resourceVersion = live?.metadata.resourceVersion;
    const annotations = { [TOMBSTONE_ANNOTATION]: end.tombstone };
    const metadata = { ...(resourceVersion === undefined ? {} : { resourceVersion }), annotations };
    await api.mergePatch(end.ref, { metadata }, { fieldManager: META_FIELD_MANAGER }, signal);
  }
  if (live?.metadata.deletionTimestamp === undefined) await api.delete(end.ref, { uid: end.uid }, signal);
}
