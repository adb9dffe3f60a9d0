import type { Outcome, Removal } from '../delivery/delivery.ts';
import type { Tombstone } from '../intent/rendered.ts';
import type { ObjectRef } from '../resources/kube-object.ts';
import { TOMBSTONE_ANNOTATION } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import type { SourcePair } from '../resources/source-annotation.ts';
import { askToGo } from './ask-to-go.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { decideRemoval } from './decide-removal.ts';
import { isDenied, isLostRace, isNoAnswer, isNotFound } from '../kube/read-failure.ts';
import { apiIsGone, outcomeOfFailure } from './kube-failure.ts';
import type { Pass } from './pass.ts';
import { judgeTombstone, type SignatureState } from '../policy/judge-signature.ts';
import { failed } from './refusal.ts';
import { reportGone } from './report-gone.ts';
import { withoutMark } from './tombstone-mark.ts';
import { resourceRefOf } from './write-status.ts';

const MAX_TRIES = 5;

/** Brings one deletion about. `wantedPair` is that of a manifest of the same object in the same set. */
export async function removeItem(
  pass: Pass,
  { tombstone }: Removal,
  wantedPair: SourcePair | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const ref = refOfTombstone(tombstone);
  const { inventory, clock } = pass.deps;
  if (pass.apiIsGone) return apiIsGone(Reason.DeleteFailed);
  try {
    const signature = await signatureOf(tombstone, pass.policy);
    let live = await pass.liveIfAllowed(ref, signal);
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      const decision = decideRemoval({
        tombstone,
        live,
        namespace: live === undefined ? undefined : await pass.namespace(tombstone.namespace, signal),
        policy: pass.policy,
        recordedPair: live === undefined ? undefined : inventory.find(ref),
        wantedPair,
        isDenied: pass.deps.grants?.isDenied(tombstone.namespace) === true,
        signature,
      });
      if (decision.kind === 'refuse') {
        // Its own mark alone, and not for a tombstone of before the last switch: that has no say any more.
        const isOwn = live?.metadata.annotations?.[TOMBSTONE_ANNOTATION] === tombstone.intentId;
        if (isOwn && tombstone.epoch >= pass.policy.deliveryEpoch) await withoutMark(pass, live, signal);
        return decision.outcome;
      }
      if (decision.kind === 'absent' || live === undefined) {
        await reportGone(pass, tombstone, signal);
        return { state: 'absent' };
      }
      try {
        if (decision.kind === 'delete') {
          const mark = decision.annotate ? { tombstone: tombstone.intentId } : {};
          await askToGo(pass, live, { uid: decision.uid, ...mark }, signal);
        }
        const { apiVersion, kind, namespace, name, epoch, generation } = tombstone;
        // Asked for before, by a process that may have ended before it wrote so down.
        if (decision.kind === 'delete' || inventory.find(ref)?.uid === live.metadata.uid) {
          const at = clock.now().toISOString();
          const { uid } = live.metadata;
          const went = uid === undefined ? {} : { uid };
          inventory.remember({ apiVersion, kind, namespace, name, epoch, generation, at, ...went });
        }
        pass.noteAnswer(true);
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
    if (isDenied(error)) pass.deps.grants?.doubt(tombstone.namespace);
    return outcomeOfFailure(error, 'delete', tombstone.namespace);
  }
}

/** In Git a tombstone carries its own signature. Elsewhere it is made here, of a job whose signature was verified as such. */
async function signatureOf(tombstone: Tombstone, policy: ClusterPolicy): Promise<SignatureState> {
  return policy.mode === 'gitops' ? await judgeTombstone(tombstone, policy) : { state: 'valid' };
}

export function refOfTombstone({ apiVersion, kind, namespace, name }: Tombstone): ObjectRef {
  return { apiVersion, kind, namespace, name };
}
