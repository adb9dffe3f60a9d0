import { ownershipPatch, type OwnershipMove } from '../../kube/move-ownership.ts';
import { holds } from '../../resources/drift.ts';
import { intentIdOf, isLaterIntent } from '../../resources/intent-ids.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { knownPairOf } from '../../resources/known-pair.ts';
import {
  FIELD_MANAGER,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
  PAUSED_ANNOTATION,
  PUSH_FIELD_MANAGER,
  SOURCE_ANNOTATION,
} from '../../resources/labels.ts';
import { asDelivered, isManaged } from '../../resources/managed-object.ts';
import { operationNameIsUsed } from '../../resources/operation-name-is-used.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import {
  compareSource,
  formatSource,
  goesBack,
  parseSource,
  type SourcePair,
} from '../../resources/source-annotation.ts';
import { SUPERSEDED } from '../refusal-reasons.ts';
import { DELIVERED, refused, waits, type Pushed } from './pushed.ts';

/** The operator's entry becomes the control plane's where push mode takes over. */
export const TO_PUSH: OwnershipMove = { from: FIELD_MANAGER, to: PUSH_FIELD_MANAGER };

/** Everything that the decision about one manifest rests on. */
export interface PushSituation {
  /** Signed, and with the pair that it is delivered under. */
  readonly desired: KubeObject;
  readonly live: KubeObject | undefined;
  readonly clusterId: string;
  /** It was delivered before, under another epoch. */
  readonly isHandover: boolean;
  /** The cluster is known to have had the object by this very intent. */
  readonly wasApplied?: boolean;
}

export type PushDecision =
  | { readonly kind: 'end'; readonly pushed: Pushed }
  /** With both labels, and with the resourceVersion that was compared; none where the object is to be made. */
  | { readonly kind: 'write'; readonly manifest: KubeObject };

/** What becomes of one manifest. Pure. What the cluster allows is the operator's to judge, at admission and at reconcile. */
export function decidePush(situation: PushSituation): PushDecision {
  const { desired, live, clusterId, isHandover, wasApplied } = situation;
  const pair = parseSource(desired.metadata.annotations?.[SOURCE_ANNOTATION]);
  if (pair === undefined) return end(refused(Reason.ManifestInvalid, `annotation ${SOURCE_ANNOTATION} is missing`));
  const manifest = asDelivered(desired, clusterId);
  if (live === undefined) {
    // It ran, and was cleared away: made anew it would run a second time.
    const hasRun = wasApplied && desired.kind === OPERATION_KIND;
    if (hasRun) return end(DELIVERED);
    // It went since, by whomever: a switch makes nothing anew.
    return isHandover && wasApplied ? end({ state: 'delivered', isAbsent: true }) : { kind: 'write', manifest };
  }
  const used = operationNameIsUsed(desired, live);
  const held =
    (used === undefined ? undefined : refused(Reason.ApplyConflict, used)) ??
    liveIsNotOurs(live, clusterId) ??
    liveIsNewer(pair, intentIdOf(desired), live, isHandover) ??
    liveIsGoing(live) ??
    liveIsPaused(live);
  if (held !== undefined) return end(held);
  if (isAsDelivered(live, manifest, pair)) return end(DELIVERED);
  const { resourceVersion } = live.metadata;
  const metadata = resourceVersion === undefined ? manifest.metadata : { ...manifest.metadata, resourceVersion };
  return { kind: 'write', manifest: { ...manifest, metadata } };
}

function end(pushed: Pushed): PushDecision {
  return { kind: 'end', pushed };
}

/** This very delivery has been here, and the payload is the control plane's. */
function isAsDelivered(live: KubeObject, manifest: KubeObject, pair: SourcePair): boolean {
  const known = parseSource(live.metadata.annotations?.[SOURCE_ANNOTATION]);
  const isOwned = (live.metadata.managedFields ?? []).some(
    ({ manager, operation, subresource = '' }) =>
      manager === PUSH_FIELD_MANAGER && operation === 'Apply' && subresource === '',
  );
  return (
    known !== undefined &&
    compareSource(known, pair) === 0 &&
    isOwned &&
    ownershipPatch(live, TO_PUSH) === undefined &&
    holds(live, manifest)
  );
}

function liveIsNotOurs(live: KubeObject, clusterId: string): Pushed | undefined {
  if (isManaged(live, clusterId)) return undefined;
  return refused(
    Reason.ApplyConflict,
    `the object exists and was not brought by the control plane; delete it, or hand it over with: ` +
      `kubectl label ${live.kind.toLowerCase()} ${live.metadata.name} -n ${live.metadata.namespace ?? ''} ` +
      `${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE}`,
  );
}

/** The fence of late deliveries and of a mode switch: what is older than the object changes nothing. */
export function liveIsNewer(
  pair: SourcePair,
  intentId: string | undefined,
  live: KubeObject,
  isHandover: boolean,
): Pushed | undefined {
  const known = knownPairOf(live);
  if (known === undefined || !goesBack(pair, known)) return undefined;
  const message = `source ${formatSource(pair)} is older than ${formatSource(known)}, which is applied`;
  // A later generation of before a switch: the operator reports it, and the switch leaves the object as it is.
  if (isHandover && known.epoch < pair.epoch) return DELIVERED;
  const other = intentIdOf(live) ?? '';
  // A control plane that was restored from a backup learns its numbers from what the operator reports, and counts on.
  if (known.epoch > pair.epoch || isLaterIntent(intentId ?? '', other)) return waits(message);
  // What it is handed over for was brought, and something newer after it.
  return isHandover ? DELIVERED : refused(SUPERSEDED, message);
}

function liveIsGoing(live: KubeObject): Pushed | undefined {
  if (live.metadata.deletionTimestamp === undefined) return undefined;
  return waits('the object is still being deleted; it is applied once that has finished');
}

/** The annotation stops all writes to the object, whoever they come from. That of a namespace only the operator can see. */
export function liveIsPaused(live: KubeObject): Pushed | undefined {
  if (live.metadata.annotations?.[PAUSED_ANNOTATION] !== 'true') return undefined;
  return waits(`writes are paused by ${PAUSED_ANNOTATION} on ${live.kind} ${live.metadata.name}`);
}
