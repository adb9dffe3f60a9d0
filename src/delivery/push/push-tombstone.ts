import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { isLostRace, isNotFound } from '../../kube/read-failure.ts';
import type { Rendered } from '../../intent/rendered.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { decidePushRemoval } from './decide-push-removal.ts';
import { markForDeletion, takeBackMark } from './push-mark.ts';
import { DELIVERED, waits, type Pushed } from './pushed.ts';
import { readPushFault } from './read-push-fault.ts';

const MAX_TRIES = 5;

/**
 * Brings one deletion about. The mark is for this one delete: that goes through only for the object as it was marked, so
 * that nothing which came after the mark goes with it.
 *
 * Rejects only with the signal's reason, or for a bug.
 */
export async function pushTombstone(
  api: ClusterApi,
  item: Extract<Rendered, { readonly kind: 'delete' }> & { readonly isHandover?: true },
  clusterId: string,
  signal: AbortSignal,
): Promise<Pushed> {
  const { tombstone } = item;
  const { apiVersion, kind, namespace, name } = tombstone;
  const ref = { apiVersion, kind, namespace, name };
  let isMarked = false;
  let live: KubeObject | undefined;
  try {
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      live = await api.get<KubeObject>(ref, signal);
      const decision = decidePushRemoval({ tombstone, live, clusterId, isHandover: item.isHandover === true });
      if (decision.kind === 'end' || live === undefined) {
        // It went between the mark and the delete.
        const isGone = isMarked && live === undefined;
        return isGone || decision.kind !== 'end' ? DELIVERED : decision.pushed;
      }
      try {
        if (decision.mark) {
          live = await markForDeletion(api, live, tombstone, signal);
          isMarked = true;
        }
        if (!decision.isGoing) {
          const { resourceVersion } = live.metadata;
          const only = resourceVersion === undefined ? {} : { resourceVersion };
          await api.delete(ref, { uid: decision.uid, ...only }, signal);
        }
        return DELIVERED;
      } catch (error) {
        if (!isLostRace(error) && !isNotFound(error)) throw error;
      }
    }
    return waits(`the object changed under ${MAX_TRIES} writes in a row; it is tried again`);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
    const pushed = readPushFault(error, ref, 'delete', live);
    if (pushed.state === 'refused' && live !== undefined) await takeBackMark(api, live, tombstone, signal);
    return pushed;
  }
}
