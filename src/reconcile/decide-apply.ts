import { APPLICATION_INSTANCE_RULES } from '../resources/application-instance-rules.ts';
import type { ApplicationInstance } from '../resources/application-instance.ts';
import { asDelivered, isManaged } from '../resources/managed-object.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { knownPairOf } from '../resources/known-pair.ts';
import { CLUSTER_ID_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE, SOURCE_ANNOTATION } from '../resources/labels.ts';
import { operationNameIsUsed } from '../resources/operation-name-is-used.ts';
import { OPERATION_RULES } from '../resources/operation-rules.ts';
import { OPERATION_KIND, type Operation } from '../resources/operation.ts';
import { Reason } from '../resources/reasons.ts';
import { compareSource, formatSource, goesBack, type SourcePair } from '../resources/source-annotation.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { fingerprint, holds } from '../resources/drift.ts';
import type { InventoryRecord } from './inventory-record.ts';
import { conflict, failed, refused, stale, type Refusal } from './refusal.ts';
import type { SignatureState } from '../policy/judge-signature.ts';
import { ruleIsBroken } from '../policy/rule-is-broken.ts';
import { signatureIsNotAccepted } from './signature-is-not-accepted.ts';
import { greaterPair, pairOf } from './source-pair.ts';
import {
  kindIsNotDelivered,
  namespaceIsNotAllowed,
  namespaceIsNotGranted,
  namespaceIsNotThere,
  writesArePaused,
} from './write-checks.ts';

/** Everything that the decision about one manifest rests on. */
export interface ApplySituation {
  readonly desired: KubeObject;
  readonly live: KubeObject | undefined;
  readonly namespace: KubeObject | undefined;
  readonly policy: ClusterPolicy;
  readonly record: InventoryRecord | undefined;
  /** The highest pair known for an object by this name, present or since deleted. */
  readonly lastPair: SourcePair | undefined;
  /** The operator is known to have no rights in the namespace. */
  readonly isDenied?: boolean;
  readonly signature: SignatureState;
}

export type ApplyDecision =
  /** `isWanted`: nothing stands against the manifest but that the object is being deleted. */
  | { readonly kind: 'refuse'; readonly outcome: Refusal; readonly isWanted?: boolean }
  /** An operation that was brought before and is gone: it runs once, whatever is delivered again. */
  | { readonly kind: 'done' }
  /** `isOfOldWay`: of an earlier delivery epoch; nothing about the object is decided by it any more. */
  | {
      readonly kind: 'keep';
      readonly pair: SourcePair;
      readonly fingerprint: string;
      readonly isOfOldWay?: boolean;
    }
  | {
      readonly kind: 'write';
      readonly pair: SourcePair;
      readonly fingerprint: string;
      /** With both labels and the resourceVersion that was compared. */
      readonly manifest: KubeObject;
    };

/** What becomes of one manifest. Pure. */
export function decideApply(situation: ApplySituation): ApplyDecision {
  const { desired, live, namespace, policy } = situation;
  const name = desired.metadata.namespace;
  if (operationIsOver(situation)) return { kind: 'done' };
  const pair = pairOf(desired);
  const barred =
    namespaceIsNotAllowed(name, policy) ??
    kindIsNotDelivered(refOf(desired)) ??
    namesAnotherCluster(desired, policy) ??
    signatureIsNotAccepted(situation) ??
    orderIsOld(situation) ??
    modeIsAnother(situation) ??
    writesArePaused(policy, namespace, live, desired) ??
    namespaceIsNotThere(name ?? '', namespace) ??
    namespaceIsNotGranted(name ?? '', situation.isDenied);
  if (barred !== undefined) return { kind: 'refuse', outcome: barred };
  if (live?.metadata.deletionTimestamp !== undefined) {
    const message = 'the object is still being deleted; it is applied once that has finished';
    const isWanted = pair !== undefined && !isOfOldWay(pair, policy);
    return { kind: 'refuse', outcome: failed(Reason.ApplyFailed, message), isWanted };
  }
  const outcome = nameIsUsed(desired, live) ?? liveIsNotOurs(live, policy) ?? cannotBeChangedInto(desired, live);
  if (outcome !== undefined) return { kind: 'refuse', outcome };
  if (pair === undefined) return { kind: 'refuse', outcome: sourceIsMissing() };

  if (isOfOldWay(pair, policy)) {
    return { kind: 'keep', pair, fingerprint: situation.record?.fingerprint ?? '', isOfOldWay: true };
  }
  const manifest = asDelivered(desired, policy.clusterId);
  const print = fingerprint(manifest);
  if (live !== undefined && situation.record?.fingerprint === print && holds(live, manifest)) {
    return { kind: 'keep', pair, fingerprint: print };
  }
  const resourceVersion = live?.metadata.resourceVersion;
  const metadata = resourceVersion === undefined ? manifest.metadata : { ...manifest.metadata, resourceVersion };
  return { kind: 'write', pair, fingerprint: print, manifest: { ...manifest, metadata } };
}

function namesAnotherCluster(desired: KubeObject, policy: ClusterPolicy): Refusal | undefined {
  const named = desired.metadata.labels?.[CLUSTER_ID_LABEL];
  if (named === undefined || named === policy.clusterId) return undefined;
  return refused(
    Reason.ManifestRefused,
    `the manifest is for cluster ${named} (label ${CLUSTER_ID_LABEL}); this is ${policy.clusterId}`,
  );
}

function sourceIsMissing(): Refusal {
  return failed(
    Reason.ManifestInvalid,
    `annotation ${SOURCE_ANNOTATION} is missing or not <delivery epoch>.<generation>; restore the file, or deliver it anew`,
  );
}

/** Equal generations are one intent, whatever epoch it is delivered under. */
function operationIsOver({ desired, live, lastPair }: ApplySituation): boolean {
  if (desired.kind !== OPERATION_KIND || live !== undefined || lastPair === undefined) return false;
  return pairOf(desired)?.generation === lastPair.generation;
}

/** Of before the last switch: what is in the cluster of it stays as it is, and is written by nobody but the present way. */
function isOfOldWay({ epoch }: SourcePair, { deliveryEpoch }: ClusterPolicy): boolean {
  return epoch < deliveryEpoch;
}

/** In push mode the control plane writes, and nobody else: two writers would undo each other's work. */
function modeIsAnother({ desired, policy }: ApplySituation): Refusal | undefined {
  const pair = pairOf(desired);
  if (policy.mode !== 'push' || pair === undefined || isOfOldWay(pair, policy)) return undefined;
  return stale(
    Reason.StaleSource,
    'the cluster is in push mode: the control plane itself applies, and the operator does not',
  );
}

/**
 * The fence of a mode switch and of late deliveries: what is older than the object changes nothing, and what is of an
 * earlier epoch than the cluster's can neither start nor change anything. A lower generation goes back under no epoch. Equal is the same manifest again. Where the object
 * is none of the present epoch either, that is no fault: a file of an earlier stay, which the switch has not reached or left.
 */
function orderIsOld({ desired, live, policy, lastPair }: ApplySituation): Refusal | undefined {
  const pair = pairOf(desired);
  if (pair === undefined) return sourceIsMissing();
  const known = greaterPair(live === undefined ? undefined : knownPairOf(live), lastPair);
  const isBehind = known !== undefined && goesBack(pair, known);
  const isOld = isOfOldWay(pair, policy);
  const isPast = (isOld || isBehind) && (known === undefined || isOfOldWay(known, policy));
  const past = isPast ? ({ isPast } as const) : {};
  if (isBehind) {
    const newer = { epoch: known.epoch, generation: known.generation };
    const message = `source ${formatSource(pair)} is older than ${formatSource(known)}, which is applied`;
    return { ...stale(Reason.StaleSource, message, newer), ...past };
  }
  if (isOld && (known === undefined || compareSource(pair, known) > 0 || live === undefined)) {
    const message = `source ${formatSource(pair)} is of delivery epoch ${pair.epoch}; the cluster is at ${policy.deliveryEpoch}`;
    return { ...stale(Reason.StaleSource, message), ...past };
  }
  return undefined;
}

/** What the manifest leaves out stays as it is, or is judged at reconcile; rules of drift that it leaves out are given up. */
function cannotBeChangedInto(desired: KubeObject, live: KubeObject | undefined): Refusal | undefined {
  const { driftIgnore: _givenUp, ...kept } = (live?.['spec'] ?? {}) as Partial<ApplicationInstance['spec']>;
  const spec = { ...kept, ...(desired['spec'] as object | undefined) };
  const after = { ...desired, spec } as unknown as ApplicationInstance & Operation;
  const [broken] =
    desired.kind === OPERATION_KIND
      ? ruleIsBroken(OPERATION_RULES, after, live)
      : ruleIsBroken(APPLICATION_INSTANCE_RULES, after, live);
  return broken === undefined ? undefined : refused(broken.reason, broken.message);
}

function nameIsUsed(desired: KubeObject, live: KubeObject | undefined): Refusal | undefined {
  const message = operationNameIsUsed(desired, live);
  return message === undefined ? undefined : conflict(Reason.ApplyConflict, message);
}

function liveIsNotOurs(live: KubeObject | undefined, policy: ClusterPolicy): Refusal | undefined {
  if (live === undefined || isManaged(live, policy.clusterId)) return undefined;
  return conflict(
    Reason.ApplyConflict,
    `the object exists and was not brought by the control plane; delete it, or hand it over with: ` +
      `kubectl label ${live.kind.toLowerCase()} ${live.metadata.name} -n ${live.metadata.namespace ?? ''} ` +
      `${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE}`,
  );
}
