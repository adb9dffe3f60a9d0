import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { otherNamespacesOf, type Placed } from '../policy/other-namespaces.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import type { Watched } from './watched.ts';

/** The other namespaces that an object is about, as far as there are ones by these names. */
export async function namespacesElsewhere(
  namespaces: Pick<Watched<KubeObject>, 'get'>,
  object: Placed,
  policy: ClusterPolicy,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = [];
  for (const name of otherNamespacesOf(object, policy)) {
    // What is not allowed is refused, whatever stands on it.
    if (!policy.allowedNamespaces.includes(name)) continue;
    const namespace = await namespaces.get(undefined, name, signal);
    if (namespace !== undefined) found.push(namespace);
  }
  return found;
}
