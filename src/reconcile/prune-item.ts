import type { DesiredSet, Outcome } from '../delivery/delivery.ts';
import { PRUNED_MARK } from '../resources/intent-ids.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { knownPairOf } from '../resources/known-pair.ts';
import { TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import { compareSource, formatSource } from '../resources/source-annotation.ts';
import { askToGo } from './ask-to-go.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { liveIsNotOurs, type RemovalDecision } from './decide-removal.ts';
import type { InventoryRecord } from './inventory-record.ts';
import { isDenied, isLostRace, isNoAnswer, isNotFound } from '../kube/read-failure.ts';
import { apiIsGone, outcomeOfFailure } from './kube-failure.ts';
import type { Pass } from './pass.ts';
import { failed, refused, stale, type Refusal } from './refusal.ts';
import { withoutMark } from './tombstone-mark.ts';
import { refOfRecord } from './vanished.ts';
import {
  kindIsNotDelivered,
  labelIsMissing,
  namespaceIsNotAllowed,
  namespaceIsNotGranted,
  writesArePaused,
} from './write-checks.ts';
import { resourceRefOf } from './write-status.ts';

/** Everything that the decision about one object whose file vanished rests on. */
export interface PruneSituation {
  readonly record: InventoryRecord;
  readonly live: KubeObject | undefined;
  readonly namespace: KubeObject | undefined;
  readonly policy: ClusterPolicy;
  /** Whoever took the file away signed the commit, and the signature was verified. */
  readonly isSigned: boolean;
  readonly isDenied: boolean;
}

const MAX_TRIES = 5;

/** What becomes of an object whose file vanished, on a cluster that prunes; `absent` too where it was made anew. Pure. */
export function decidePrune(situation: PruneSituation): RemovalDecision {
  const { record, live, namespace, policy } = situation;
  if (live === undefined || live.metadata.uid !== record.uid) return { kind: 'absent' };
  const outcome =
    namespaceIsNotAllowed(record.namespace, policy) ??
    kindIsNotDelivered(record) ??
    removalIsNotSigned(situation) ??
    liveIsNotOurs(live, policy) ??
    liveIsNewer(record, live) ??
    writesArePaused(policy, namespace, live) ??
    labelIsMissing(record.namespace, namespace) ??
    namespaceIsNotGranted(record.namespace, situation.isDenied);
  if (outcome !== undefined) return { kind: 'refuse', outcome };
  const mark = live.metadata.annotations?.[TOMBSTONE_ANNOTATION];
  if (live.metadata.deletionTimestamp !== undefined && mark !== undefined) return { kind: 'deleting' };
  return { kind: 'delete', uid: record.uid, annotate: mark === undefined };
}

/** Deletes by UID what a record names. Throws only what is a bug, or the signal's reason. */
export async function pruneItem(
  pass: Pass,
  record: InventoryRecord,
  { isSigned = false, isAccepted = false }: Pick<DesiredSet, 'isSigned' | 'isAccepted'>,
  signal: AbortSignal,
): Promise<Outcome> {
  const ref = refOfRecord(record);
  const { inventory, clock, grants } = pass.deps;
  if (pass.apiIsGone) return apiIsGone(Reason.DeleteFailed);
  try {
    let live = await pass.liveIfAllowed(ref, signal);
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      const namespace = live === undefined ? undefined : await pass.namespace(record.namespace, signal);
      const denied = grants?.isDenied(record.namespace) === true;
      const { policy } = pass;
      const decision: RemovalDecision = pass.mayRead(ref)
        ? decidePrune({ record, live, namespace, policy, isSigned, isDenied: denied })
        : { kind: 'refuse', outcome: notReadable(record, policy) };
      if (decision.kind === 'refuse') {
        await withoutMark(pass, live, signal);
        return decision.outcome;
      }
      try {
        if (decision.kind === 'delete' && live !== undefined) {
          const tombstone = `${PRUNED_MARK}${pass.revision ?? ''}`;
          await askToGo(pass, live, { uid: decision.uid, ...(decision.annotate ? { tombstone } : {}) }, signal);
        }
        const { epoch, generation } = record;
        const counts = decision.kind !== 'absent' && !isAccepted;
        const at = clock.now().toISOString();
        inventory.remember({ ...ref, epoch, generation, at, ...(counts ? { pruned: true } : {}) });
        pass.noteAnswer(true);
        if (decision.kind === 'absent' || live === undefined) return { state: 'absent' };
        return { state: 'deleted', ref: resourceRefOf(live) };
      } catch (error) {
        if (!isLostRace(error) && !isNotFound(error)) throw error;
        live = await pass.live.refresh(ref, signal);
      }
    }
    return failed(Reason.DeleteFailed, `the object changed under ${MAX_TRIES} writes in a row; it is tried again`);
  } catch (error) {
    signal.throwIfAborted();
    pass.noteAnswer(!isNoAnswer(error));
    if (isDenied(error)) grants?.doubt(record.namespace);
    return outcomeOfFailure(error, 'delete', record.namespace);
  }
}

function notReadable(record: InventoryRecord, policy: ClusterPolicy): Refusal {
  return (
    namespaceIsNotAllowed(record.namespace, policy) ??
    kindIsNotDelivered(record) ??
    failed(Reason.DeleteFailed, 'the object cannot be read')
  );
}

/** An unsigned commit is no more than an unsigned tombstone: where signatures are required nothing goes for it. */
function removalIsNotSigned({ policy, isSigned }: PruneSituation): Refusal | undefined {
  if (isSigned || !policy.requireSignedPayloads) return undefined;
  return refused(
    Reason.SignatureMissing,
    'its file is gone, and this cluster requires signatures: turn on requireSignedCommits, or uninstall through the control plane',
  );
}

/** Brought by another way since, such as a job: the file that vanished was not the last word. */
function liveIsNewer(record: InventoryRecord, live: KubeObject): Refusal | undefined {
  const pair = knownPairOf(live);
  if (pair === undefined || compareSource(pair, record) <= 0) return undefined;
  return stale(
    Reason.StaleSource,
    `the file that is gone was ${formatSource(record)}; ${formatSource(pair)} is applied`,
  );
}
