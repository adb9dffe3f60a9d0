import type { Tombstone } from '../../intent/rendered.ts';
import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { asSeen, patchAsSeen } from '../../kube/patch-as-seen.ts';
import { annotationPath, isOurMark, withdrawMark } from '../../kube/withdraw-mark.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import { PUSH_META_FIELD_MANAGER, SOURCE_ANNOTATION, TOMBSTONE_ANNOTATION } from '../../resources/labels.ts';
import { formatSource } from '../../resources/source-annotation.ts';

const BY = { fieldManager: PUSH_META_FIELD_MANAGER };

/**
 * Says on an object that its end is meant, and by which delivery: the operator uninstalls what was made of it, and remembers
 * the pair, so that nothing older brings the object back. Only as it was seen.
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
  const annotations = { [TOMBSTONE_ANNOTATION]: tombstone.intentId, [SOURCE_ANNOTATION]: formatSource(tombstone) };
  return await api.mergePatch(refOf(live), { metadata: { resourceVersion, annotations } }, BY, signal);
}

/**
 * Takes the mark back where the delete was refused: else a later deletion by hand would uninstall. The source annotation
 * becomes what it was, so that the signature over it holds again. Where it fails, the next write to the object sees to it.
 */
export async function takeBackMark(
  api: Pick<ClusterApi, 'get' | 'jsonPatch'>,
  before: KubeObject,
  marked: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const source = before.metadata.annotations?.[SOURCE_ANNOTATION];
  try {
    const restored = await patchAsSeen(
      api,
      marked,
      (live) =>
        isOurMark(live) && live.metadata.annotations?.[SOURCE_ANNOTATION] !== source
          ? [
              asSeen(live),
              source === undefined
                ? { op: 'remove', path: annotationPath(SOURCE_ANNOTATION) }
                : { op: 'replace', path: annotationPath(SOURCE_ANNOTATION), value: source },
            ]
          : undefined,
      BY,
      signal,
    );
    if (restored !== undefined) await withdrawMark(api, restored, PUSH_META_FIELD_MANAGER, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
  }
}
