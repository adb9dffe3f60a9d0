import { KubeError, type ClusterApi } from '../kube/cluster-api.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { isNoAnswer } from '../kube/read-failure.ts';

/**
 * Why no object of this kind may be made now, or undefined. A definition that is being deleted deletes its objects and waits
 * until there are none; a POST is refused meanwhile, but server-side apply makes new ones, and the two would go on for ever.
 * So before an object is made the server is asked with a POST that stores nothing. Whatever else is wrong with it, the apply
 * that follows tells.
 *
 * @throws KubeError when the server does not answer
 */
export async function definitionIsTerminating(
  api: ClusterApi,
  manifest: KubeObject,
  fieldManager: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await api.create(manifest, fieldManager, signal, { dryRun: true });
    return undefined;
  } catch (error) {
    if (isNoAnswer(error)) throw error;
    if (!(error instanceof KubeError) || error.status !== 405 || !error.message.includes('terminating'))
      return undefined;
    return (
      `the definition of ${manifest.kind} (${manifest.apiVersion}) is being deleted, and nothing is made in it; when nothing ` +
      'holds it any more, apply it again: docs/install.md, "Deleted by mistake", has the commands'
    );
  }
}
