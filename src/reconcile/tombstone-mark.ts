import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER, TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import { isLostRace, isNotFound } from '../kube/read-failure.ts';
import type { Pass } from './pass.ts';
import { labelIsMissing, writesArePaused } from './write-checks.ts';

/** The field managers that own the mark. Nobody clears `managedFields` but on purpose; then it counts as a person's. */
export function ownersOfMark({ metadata }: KubeObject): readonly string[] {
  if (metadata.annotations?.[TOMBSTONE_ANNOTATION] === undefined) return [];
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => {
      const annotations = fieldAt(fieldAt(fieldsV1, 'f:metadata'), 'f:annotations');
      return fieldAt(annotations, `f:${TOMBSTONE_ANNOTATION}`) !== undefined;
    })
    .map(({ manager = '' }) => manager);
}

/** Set by us, for one delete of ours; what a person sets is a person's word and stays. */
export function isOurMark(object: KubeObject): boolean {
  const owners = ownersOfMark(object);
  return owners.length > 0 && owners.every((owner) => owner === META_FIELD_MANAGER);
}

/**
 * Takes a mark of ours off an object whose end nobody wants any more: a crash between mark and delete left it there, and
 * it would make an uninstall of a later deletion by hand. Where a delete went through the record has ended, and it stays.
 * Answers the object as it stands then.
 *
 * @throws KubeError
 */
export async function withoutMark(
  pass: Pass,
  live: KubeObject | undefined,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (live === undefined || !isOurMark(live)) return live;
  const ref = refOf(live);
  const { namespace: name = '', uid } = live.metadata;
  if (pass.deps.inventory.find(ref)?.uid !== uid || !pass.mayRead(ref)) return live;
  const namespace = await pass.namespace(name, signal);
  if ((writesArePaused(pass.policy, namespace, live) ?? labelIsMissing(name, namespace)) !== undefined) return live;
  const { resourceVersion } = live.metadata;
  const metadata = { resourceVersion, annotations: { [TOMBSTONE_ANNOTATION]: null } };
  try {
    return await pass.deps.api.mergePatch(ref, { metadata }, { fieldManager: META_FIELD_MANAGER }, signal);
  } catch (error) {
    if (!isLostRace(error) && !isNotFound(error)) throw error;
    return await pass.live.refresh(ref, signal);
  }
}

function fieldAt(fields: unknown, name: string): unknown {
  return typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>)[name] : undefined;
}
