import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { applyOver } from '../../kube/apply-over.ts';
import { moveOwnership } from '../../kube/move-ownership.ts';
import { isLostRace } from '../../kube/read-failure.ts';
import { withdrawMark } from '../../kube/withdraw-mark.ts';
import { MAX_MANIFEST_BYTES, type Rendered } from '../../intent/rendered.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import { PUSH_FIELD_MANAGER, PUSH_META_FIELD_MANAGER } from '../../resources/labels.ts';
import type { DeliveryItem } from '../delivery.ts';
import { MANIFEST_TOO_LARGE } from '../refusal-reasons.ts';
import { decidePush, TO_PUSH } from './decide-push.ts';
import { DELIVERED, refused, waits, type Pushed } from './pushed.ts';
import { readPushFault } from './read-push-fault.ts';

/** Races with status writes and people are lost now and then, never for long. */
const MAX_TRIES = 5;

/**
 * Brings one manifest to the API server:
 *
 * ```
 * GET ─► decide ─► end (as delivered, newer, going, paused, not ours)
 *   ▲       │
 *   │       └─► take back a mark, move the ownership (where that is to do: then decide anew)
 *   │             └─► apply as it was seen, without force ─► delivered, or refused by a field's owner
 *   └── changed since ──┘
 * ```
 *
 * Rejects only with the signal's reason, or for a bug.
 */
export async function pushManifest(
  api: ClusterApi,
  item: Extract<Rendered, { readonly kind: 'apply' }> & Pick<DeliveryItem, 'isHandover' | 'wasApplied'>,
  clusterId: string,
  signal: AbortSignal,
): Promise<Pushed> {
  const { object: desired, text } = item;
  const ref = refOf(desired);
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > MAX_MANIFEST_BYTES) {
    return refused(MANIFEST_TOO_LARGE, `the manifest has ${bytes} bytes, more than ${MAX_MANIFEST_BYTES}`);
  }
  const was = { isHandover: item.isHandover === true, wasApplied: item.wasApplied === true };
  let live: KubeObject | undefined;
  try {
    live = await api.get<KubeObject>(ref, signal);
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      const decision = decidePush({ desired, live, clusterId, ...was });
      if (decision.kind === 'end') return decision.pushed;
      if (live !== undefined) {
        const ready: KubeObject | undefined = await readied(api, live, signal);
        if (ready !== live) {
          live = ready;
          continue;
        }
      }
      try {
        await applyOver(api, decision.manifest, live, { fieldManager: PUSH_FIELD_MANAGER }, signal);
        return DELIVERED;
      } catch (error) {
        if (!isLostRace(error)) throw error;
        live = await api.get<KubeObject>(ref, signal);
      }
    }
    return waits(`the object changed under ${MAX_TRIES} writes in a row; it is tried again`);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof KubeError)) throw error;
    return readPushFault(error, ref, 'apply', live);
  }
}

/** The same object where there was nothing to make ready; undefined where it went meanwhile. */
async function readied(api: ClusterApi, live: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
  const unmarked = await withdrawMark(api, live, PUSH_META_FIELD_MANAGER, signal);
  return unmarked === live ? await moveOwnership(api, live, TO_PUSH, signal) : unmarked;
}
