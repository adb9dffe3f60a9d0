import { isOurMark } from '../kube/withdraw-mark.ts';
import { ownersOfAnnotation } from '../resources/managed-object.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER, TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import { isLostRace, isNotFound } from '../kube/read-failure.ts';
import type { Pass } from './pass.ts';

/**
 * Deletes one incarnation of an object. Marked first, where that is still to do: so that its controller knows that the end
 * is meant, and uninstalls what was made of it. The mark is for this one delete: that goes through only for the object as
 * it was marked, and where it does not the mark is taken back. So neither a later deletion by hand nor a request that was
 * under way for long finds a mark that was not meant for it.
 *
 * @throws KubeError
 */
export async function askToGo(
  pass: Pass,
  live: KubeObject,
  end: { readonly uid: string; readonly tombstone?: string },
  signal: AbortSignal,
): Promise<void> {
  const marked = end.tombstone === undefined ? live : await mark(pass, live, end.tombstone, signal);
  if (live.metadata.deletionTimestamp !== undefined) return;
  const { resourceVersion } = marked.metadata;
  const options = resourceVersion === undefined ? { uid: end.uid } : { uid: end.uid, resourceVersion };
  try {
    await pass.deps.api.delete(refOf(live), options, signal);
  } catch (error) {
    // The next try finds it as it is then.
    if (!isLostRace(error) && !isNotFound(error) && isOurMark(marked)) await takeBack(pass, live, marked, signal);
    throw error;
  }
}

async function mark(pass: Pass, live: KubeObject, value: string, signal: AbortSignal): Promise<KubeObject> {
  const { resourceVersion } = live.metadata;
  const annotations = { [TOMBSTONE_ANNOTATION]: value };
  const metadata = { ...(resourceVersion === undefined ? {} : { resourceVersion }), annotations };
  return await pass.deps.api.mergePatch(refOf(live), { metadata }, { fieldManager: META_FIELD_MANAGER }, signal);
}

/** As it was before: what a person had written there is that person's again. Where it fails, the next pass sees to it. */
async function takeBack(pass: Pass, live: KubeObject, marked: KubeObject, signal: AbortSignal): Promise<void> {
  const [owner] = isOurMark(live) ? [] : ownersOfAnnotation(live, TOMBSTONE_ANNOTATION);
  const value = owner === undefined ? null : (live.metadata.annotations?.[TOMBSTONE_ANNOTATION] ?? null);
  const { resourceVersion } = marked.metadata;
  const metadata = { resourceVersion, annotations: { [TOMBSTONE_ANNOTATION]: value } };
  const fieldManager = owner ?? META_FIELD_MANAGER;
  try {
    await pass.deps.api.mergePatch(refOf(live), { metadata }, { fieldManager }, signal);
  } catch {
    signal.throwIfAborted();
  }
}
