import type { Tombstone } from '../../intent/rendered.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { markPairOf } from '../../resources/known-pair.ts';
import { MANAGED_BY_LABEL, TOMBSTONE_ANNOTATION } from '../../resources/labels.ts';
import { isManaged } from '../../resources/managed-object.ts';
import { Reason } from '../../resources/reasons.ts';
import { compareSource } from '../../resources/source-annotation.ts';
import { liveIsNewer, liveIsPaused } from './decide-push.ts';
import { DELIVERED, refused, type Pushed } from './pushed.ts';

export interface PushRemovalSituation {
  readonly tombstone: Tombstone;
  readonly live: KubeObject | undefined;
  readonly clusterId: string;
  /** It was asked for before, under another epoch. */
  readonly isHandover: boolean;
}

export type PushRemovalDecision =
  | { readonly kind: 'end'; readonly pushed: Pushed }
  /** Marked first, so that its end is known to be meant; `isGoing`: somebody has deleted it already. */
  | { readonly kind: 'delete'; readonly uid: string; readonly mark: boolean; readonly isGoing: boolean };

/** What becomes of one tombstone. Pure. Nothing else in push mode deletes an object. */
export function decidePushRemoval(situation: PushRemovalSituation): PushRemovalDecision {
  const { tombstone, live, clusterId, isHandover } = situation;
  const uid = live?.metadata.uid;
  if (live === undefined || uid === undefined) return end({ state: 'delivered', isAbsent: true });
  const pair = markPairOf(live);
  const isMarked =
    live.metadata.annotations?.[TOMBSTONE_ANNOTATION] === tombstone.intentId &&
    pair !== undefined &&
    compareSource(pair, tombstone) === 0;
  const isGoing = live.metadata.deletionTimestamp !== undefined;
  const held =
    incarnationDiffers(tombstone, uid, isHandover) ??
    liveIsNotOurs(live, clusterId) ??
    liveIsNewer(tombstone, tombstone.intentId, live, isHandover) ??
    liveIsPaused(live);
  if (held !== undefined) return end(held);
  return isMarked && isGoing ? end(DELIVERED) : { kind: 'delete', uid, mark: !isMarked, isGoing };
}

function end(pushed: Pushed): PushRemovalDecision {
  return { kind: 'end', pushed };
}

function incarnationDiffers({ uid }: Tombstone, live: string, isHandover: boolean): Pushed | undefined {
  if (uid === undefined || uid === live) return undefined;
  // What it asked to go is gone.
  if (isHandover) return { state: 'delivered', isAbsent: true };
  return refused(
    Reason.StaleSource,
    `the tombstone is for uid ${uid}; the object has been made anew since (uid ${live})`,
  );
}

function liveIsNotOurs(live: KubeObject, clusterId: string): Pushed | undefined {
  if (isManaged(live, clusterId)) return undefined;
  return refused(
    Reason.ManifestRefused,
    `the object is not managed by the control plane (label ${MANAGED_BY_LABEL}) and is never deleted by it`,
  );
}
