import type { KubeObject } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER, PUSH_META_FIELD_MANAGER, TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import { ownersOfAnnotation } from '../resources/managed-object.ts';
import type { ClusterApi, JsonPatchOperation } from './cluster-api.ts';
import { asSeen, patchAsSeen } from './patch-as-seen.ts';

const OURS: readonly string[] = [META_FIELD_MANAGER, PUSH_META_FIELD_MANAGER];

/** Set by a writer of ours, for one delete of ours; what a person sets is a person's word and stays. */
export function isOurMark(object: KubeObject): boolean {
  const owners = ownersOfAnnotation(object, TOMBSTONE_ANNOTATION);
  return owners.length > 0 && owners.every((owner) => OURS.includes(owner));
}

/**
 * Takes a mark of ours off an object whose end nobody wants any more: it would make an uninstall of a later deletion by
 * hand. In push mode the mark came with a raised source annotation: that goes to nobody, so that the next apply may set it.
 * Undefined when there is nothing to withdraw. Pure.
 */
export function withdrawalPatch(live: KubeObject): readonly JsonPatchOperation[] | undefined {
  const entry = (live.metadata.managedFields ?? []).findIndex(({ manager }) => manager === PUSH_META_FIELD_MANAGER);
  const isMarked = isOurMark(live);
  if (!isMarked && entry === -1) return undefined;
  return [
    asSeen(live),
    ...(entry === -1 ? [] : [{ op: 'remove', path: `/metadata/managedFields/${entry}` } as const]),
    ...(isMarked ? [{ op: 'remove', path: annotationPath(TOMBSTONE_ANNOTATION) } as const] : []),
  ];
}

/** Answers as `patchAsSeen` does. @throws KubeError */
export async function withdrawMark(
  api: Pick<ClusterApi, 'get' | 'jsonPatch'>,
  live: KubeObject,
  fieldManager: string,
  signal?: AbortSignal,
): Promise<KubeObject | undefined> {
  return await patchAsSeen(api, live, withdrawalPatch, { fieldManager }, signal);
}

/** Path of an annotation in a JSON patch (RFC 6901). */
export function annotationPath(name: string): string {
  return `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
