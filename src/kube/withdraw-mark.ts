import type { KubeObject } from '../resources/kube-object.ts';
import {
  META_FIELD_MANAGER,
  PUSH_META_FIELD_MANAGER,
  TOMBSTONE_ANNOTATION,
  TOMBSTONE_SOURCE_ANNOTATION,
} from '../resources/labels.ts';
import { ownersOfAnnotation } from '../resources/managed-object.ts';
import type { ClusterApi, JsonPatchOperation } from './cluster-api.ts';
import { asSeen, patchAsSeen } from './patch-as-seen.ts';

/** Set by a writer of ours, for one delete of ours; what a person sets is a person's word and stays. */
export function isOurMark(object: KubeObject): boolean {
  return isMarkOf(object, [META_FIELD_MANAGER, PUSH_META_FIELD_MANAGER]);
}

/** Set by the operator; the control plane's own, in push mode, is no operator's to judge. */
export function isOperatorMark(object: KubeObject): boolean {
  return isMarkOf(object, [META_FIELD_MANAGER]);
}

function isMarkOf(object: KubeObject, managers: readonly string[]): boolean {
  const owners = ownersOfAnnotation(object, TOMBSTONE_ANNOTATION);
  return owners.length > 0 && owners.every((owner) => managers.includes(owner));
}

/**
 * Takes a mark of ours off an object whose end nobody wants any more: it would make an uninstall of a later deletion by
 * hand. Never off one that is being deleted, unless the caller knows better: there the mark says that what was made of it
 * goes too, and without it an uninstall under way would be cut off. Undefined when there is nothing to withdraw. Pure.
 */
export function withdrawalPatch(
  live: KubeObject,
  evenGoing?: (live: KubeObject) => boolean,
): readonly JsonPatchOperation[] | undefined {
  if (!isOurMark(live)) return undefined;
  if (live.metadata.deletionTimestamp !== undefined && evenGoing?.(live) !== true) return undefined;
  const hasPair = live.metadata.annotations?.[TOMBSTONE_SOURCE_ANNOTATION] !== undefined;
  return [
    asSeen(live),
    { op: 'remove', path: annotationPath(TOMBSTONE_ANNOTATION) },
    ...(hasPair ? [{ op: 'remove', path: annotationPath(TOMBSTONE_SOURCE_ANNOTATION) } as const] : []),
  ];
}

/** Answers as `patchAsSeen` does; `evenGoing` is asked anew for the object as it stands at each try. @throws KubeError */
export async function withdrawMark(
  api: Pick<ClusterApi, 'get' | 'jsonPatch'>,
  live: KubeObject,
  fieldManager: string,
  signal?: AbortSignal,
  evenGoing?: (live: KubeObject) => boolean,
): Promise<KubeObject | undefined> {
  return await patchAsSeen(api, live, (object) => withdrawalPatch(object, evenGoing), { fieldManager }, signal);
}

/** Path of an annotation in a JSON patch (RFC 6901). */
function annotationPath(name: string): string {
  return `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
