import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import { FLUX_FINALIZER } from './flux-status.ts';

export function hasFinalizer(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(FLUX_FINALIZER) ?? false;
}

/** Puts the finalizer on before anything is done that a deletion would have to undo. */
export async function addFinalizer(
  api: ClusterApi,
  object: KubeObject,
  fieldManager: string,
  signal: AbortSignal,
): Promise<void> {
  await writeFinalizers(api, object, [...(object.metadata.finalizers ?? []), FLUX_FINALIZER], fieldManager, signal);
}

export async function removeFinalizer(
  api: ClusterApi,
  object: KubeObject,
  fieldManager: string,
  signal: AbortSignal,
): Promise<void> {
  const left = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== FLUX_FINALIZER);
  try {
    await writeFinalizers(api, object, left, fieldManager, signal);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 404) throw error;
  }
}

/** Only on the version that was read: a merge patch replaces the whole list, others' finalizers included. */
async function writeFinalizers(
  api: ClusterApi,
  object: KubeObject,
  finalizers: readonly string[],
  fieldManager: string,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion } = object.metadata;
  await api.mergePatch(refOf(object), { metadata: { finalizers, resourceVersion } }, { fieldManager }, signal);
}
