import type { Tombstone } from '../../intent/rendered.ts';
import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { withdrawMark } from '../../kube/withdraw-mark.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import { PUSH_META_FIELD_MANAGER, TOMBSTONE_ANNOTATION, TOMBSTONE_SOURCE_ANNOTATION } from '../../resources/labels.ts';
import { formatSource } from '../../resources/source-annotation.ts';

/**
 * Says on an object that its end is meant, and by which delivery: the operator uninstalls what was made of it, and remembers
 * the pair, so that nothing older brings the object back. The pair stands beside that of the payload, whose signature goes
 * on to hold. Only as it was seen.
 *
 * @throws KubeError
 */
export async function markForDeletion(
  api: Pick<ClusterApi, 'mergePatch'>,
  live: KubeObject,
  tombstone: Tombstone,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { resourceVersion } = live.metadata;
  const annotations = {
    [TOMBSTONE_ANNOTATION]: tombstone.intentId,
    [TOMBSTONE_SOURCE_ANNOTATION]: formatSource(tombstone),
  };
  const by = { fieldManager: PUSH_META_FIELD_MANAGER };
  return await api.mergePatch(refOf(live), { metadata: { resourceVersion, annotations } }, by, signal);
}

/**
 * Takes the mark back where the delete was refused: else a later deletion by hand would uninstall. Where it fails, the next
 * write to the object sees to it.
 */
export async function takeBackMark(
  api: Pick<ClusterApi, 'get' | 'jsonPatch'>,
  marked: KubeObject,
  { intentId }: Tombstone,
  signal: AbortSignal,
): Promise<void> {
  // Set by this call, or by an earlier one whose delete had no answer.
  if (marked.metadata.annotations?.[TOMBSTONE_ANNOTATION] !== intentId) return;
  try {
    await withdrawMark(api, marked, PUSH_META_FIELD_MANAGER, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
  }
}
