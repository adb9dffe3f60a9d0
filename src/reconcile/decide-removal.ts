import type { Tombstone } from '../intent/rendered.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { knownPairOf } from '../resources/known-pair.ts';
import { isManaged } from '../resources/managed-object.ts';
import { MANAGED_BY_LABEL, TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import { compareSource, formatSource, goesBack, type SourcePair } from '../resources/source-annotation.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { SignatureState } from '../policy/judge-signature.ts';
import { refused, stale, type Refusal } from './refusal.ts';
import { signatureIsNotAccepted } from './signature-is-not-accepted.ts';
import { greaterPair } from './source-pair.ts';
import {
  kindIsNotDelivered,
  labelIsMissing,
  namespaceIsNotAllowed,
  namespaceIsNotGranted,
  writesArePaused,
} from './write-checks.ts';

/** Everything that the decision about one tombstone rests on. */
export interface RemovalSituation {
  readonly tombstone: Tombstone;
  readonly live: KubeObject | undefined;
  readonly namespace: KubeObject | undefined;
  readonly policy: ClusterPolicy;
  /** The inventory's pair of the live object, for one whose annotation was taken off. */
  readonly recordedPair: SourcePair | undefined;
  /** The pair of a manifest of the same object in the same set. */
  readonly wantedPair: SourcePair | undefined;
  /** The operator is known to have no rights in the namespace. */
  readonly isDenied?: boolean;
  readonly signature: SignatureState;
}

export type RemovalDecision =
  | { readonly kind: 'refuse'; readonly outcome: Refusal }
  | { readonly kind: 'absent' }
  /** On its way: asked for before, its finalizer is at work. */
  | { readonly kind: 'deleting' }
  /** Annotate first where that is still to do, so that the end of the object is known to be meant; then delete. */
  | { readonly kind: 'delete'; readonly uid: string; readonly annotate: boolean };

/** What becomes of one tombstone. Pure. Besides it only `decidePrune` ever deletes an object. */
export function decideRemoval(situation: RemovalSituation): RemovalDecision {
  const { tombstone, live, namespace, policy } = situation;
  const outcome =
    namespaceIsNotAllowed(tombstone.namespace, policy) ??
    kindIsNotDelivered(tombstone) ??
    signatureIsNotAccepted(situation) ??
    manifestIsNewer(situation);
  if (outcome !== undefined) return { kind: 'refuse', outcome };
  const uid = live?.metadata.uid;
  if (live === undefined || uid === undefined) return { kind: 'absent' };

  const annotated = live.metadata.annotations?.[TOMBSTONE_ANNOTATION] === tombstone.intentId;
  const isGoing = live.metadata.deletionTimestamp !== undefined && annotated;
  // Asked for by this very tombstone: there is nothing left to refuse, whatever came into force since.
  if (isGoing && tombstone.epoch < policy.deliveryEpoch && isManaged(live, policy.clusterId))
    return { kind: 'deleting' };
  const held =
    incarnationDiffers(tombstone, uid) ??
    liveIsNotOurs(live, policy) ??
    liveIsNewer(situation, live) ??
    writesArePaused(policy, namespace, live) ??
    labelIsMissing(tombstone.namespace, namespace) ??
    namespaceIsNotGranted(tombstone.namespace, situation.isDenied);
  if (held !== undefined) return { kind: 'refuse', outcome: held };
  if (isGoing) return { kind: 'deleting' };
  return { kind: 'delete', uid, annotate: !annotated };
}

function manifestIsNewer({ tombstone, wantedPair }: RemovalSituation): Refusal | undefined {
  if (wantedPair === undefined || compareSource(tombstone, wantedPair) > 0) return undefined;
  return stale(
    Reason.StaleSource,
    `tombstone ${formatSource(tombstone)} is followed by a manifest of the same object, ${formatSource(wantedPair)}`,
  );
}

function incarnationDiffers(tombstone: Tombstone, uid: string): Refusal | undefined {
  if (tombstone.uid === undefined || tombstone.uid === uid) return undefined;
  return stale(
    Reason.StaleSource,
    `the tombstone is for uid ${tombstone.uid}; the object has been made anew since (uid ${uid})`,
  );
}

export function liveIsNotOurs(live: KubeObject, policy: ClusterPolicy): Refusal | undefined {
  if (isManaged(live, policy.clusterId)) return undefined;
  return refused(
    Reason.ManifestRefused,
    `the object is not managed by the control plane (label ${MANAGED_BY_LABEL}) and is never deleted by it`,
  );
}

function liveIsNewer({ tombstone, policy, recordedPair }: RemovalSituation, live: KubeObject): Refusal | undefined {
  const known = greaterPair(knownPairOf(live), recordedPair);
  if (known !== undefined && (compareSource(tombstone, known) <= 0 || goesBack(tombstone, known))) {
    return stale(
      Reason.StaleSource,
      `tombstone ${formatSource(tombstone)} is not newer than ${formatSource(known)}, which is applied`,
      { epoch: known.epoch, generation: known.generation },
    );
  }
  if (tombstone.epoch < policy.deliveryEpoch) {
    return stale(
      Reason.StaleSource,
      `tombstone ${formatSource(tombstone)} is of delivery epoch ${tombstone.epoch}; the cluster is at ${policy.deliveryEpoch}`,
    );
  }
  return undefined;
}
