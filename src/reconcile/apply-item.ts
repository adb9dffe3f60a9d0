import type { DesiredItem, Outcome } from '../delivery/delivery.ts';
import { applyOver } from '../kube/apply-over.ts';
import { moveOwnership } from '../kube/move-ownership.ts';
import { withdrawMark } from '../kube/withdraw-mark.ts';
import { intentIdOf } from '../resources/intent-ids.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { refOf } from '../resources/kube-object.ts';
import { FIELD_MANAGER, META_FIELD_MANAGER, PUSH_FIELD_MANAGER } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import { decideApply, type ApplyDecision } from './decide-apply.ts';
import { definitionIsTerminating } from './definition-is-terminating.ts';
import { isDenied, isLostRace, isNoAnswer } from '../kube/read-failure.ts';
import { apiIsGone, outcomeOfFailure } from './kube-failure.ts';
import type { Pass } from './pass.ts';
import { judgeSignature } from '../policy/judge-signature.ts';
import { failed } from './refusal.ts';
import { tellEndAgain } from './tell-end.ts';
import { withoutMark } from './tombstone-mark.ts';
import { resourceRefOf } from './write-status.ts';

/** Races with status writes and people are lost now and then, never for long. */
const MAX_TRIES = 5;

/** Brings one manifest about. Throws only what is a bug, or the signal's reason. */
export async function applyItem(pass: Pass, item: DesiredItem, signal: AbortSignal): Promise<Outcome> {
  const ref = refOf(item.object);
  const { inventory } = pass.deps;
  const namespace = ref.namespace ?? '';
  if (pass.apiIsGone) return apiIsGone(Reason.ApplyFailed);
  let live: KubeObject | undefined;
  try {
    const signature = await judgeSignature(item.object, pass.policy);
    live = await pass.liveIfAllowed(ref, signal);
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      const decision = decideApply({
        desired: item.object,
        live,
        namespace: await pass.namespace(namespace, signal),
        policy: pass.policy,
        record: inventory.find(ref),
        lastPair: inventory.lastPair(ref),
        isDenied: pass.deps.grants?.isDenied(namespace) === true,
        signature,
      });
      if (decision.kind === 'refuse') {
        // Whether its finalizer may uninstall what was made of it is this manifest's to say, as it is wanted.
        if (decision.isWanted === true) await withoutMark(pass, live, signal);
        if (live === undefined && decision.outcome.state === 'stale') tellEndAgain(pass, ref);
        return decision.outcome;
      }
      if (decision.kind === 'done') return { state: 'absent' };
      // A mark goes with what is newer than it, and never for a manifest that changes nothing any more.
      if (live !== undefined && (decision.kind === 'write' || decision.isOfOldWay !== true)) {
        const unmarked: KubeObject | undefined = await withdrawMark(pass.deps.api, live, META_FIELD_MANAGER, signal);
        if (unmarked !== live) {
          live = unmarked;
          continue;
        }
      }
      if (decision.kind === 'keep') {
        if (live === undefined) return { state: 'unchanged' };
        note(pass, item, live, decision);
        return { state: 'unchanged', ref: resourceRefOf(live) };
      }
      if (live === undefined) {
        const ending = await definitionIsTerminating(pass.deps.api, decision.manifest, FIELD_MANAGER, signal);
        if (ending !== undefined) return failed(Reason.DefinitionTerminating, ending);
      }
      try {
        if (live !== undefined) {
          // A way that was left owns what it wrote until the first write of the next one.
          const move = { from: PUSH_FIELD_MANAGER, to: FIELD_MANAGER };
          const moved = await moveOwnership(pass.deps.api, live, move, signal);
          if (moved !== live) {
            live = moved;
            continue;
          }
        }
        if (inventory.arrivalOf(ref, decision.pair) === undefined) {
          const { revision } = pass;
          const arrival = { pair: decision.pair, mode: pass.policy.mode };
          inventory.expect(ref, revision === undefined ? arrival : { ...arrival, revision });
        }
        const options = { fieldManager: FIELD_MANAGER };
        const { object } = await applyOver(pass.deps.api, decision.manifest, live, options, signal);
        note(pass, item, object, decision);
        pass.noteAnswer(true);
        // The server counts no write that changes nothing.
        const isSame = live?.metadata.resourceVersion === object.metadata.resourceVersion;
        return { state: isSame ? 'unchanged' : 'applied', ref: resourceRefOf(object) };
      } catch (error) {
        if (!isLostRace(error)) throw error;
        live = await pass.live.refresh(ref, signal);
      }
    }
    return failed(Reason.ApplyFailed, `the object changed under ${MAX_TRIES} writes in a row; it is tried again`);
  } catch (error) {
    signal.throwIfAborted();
    pass.noteAnswer(!isNoAnswer(error));
    if (isDenied(error)) pass.deps.grants?.doubt(namespace);
    return outcomeOfFailure(error, 'apply', namespace, live);
  }
}

/** Keeps in the inventory what is now in the cluster; the revision stays that of the pass which brought this pair. */
function note(
  pass: Pass,
  item: DesiredItem,
  live: KubeObject,
  decision: Extract<ApplyDecision, { readonly pair: unknown }>,
): void {
  const { uid, namespace, name } = live.metadata;
  if (uid === undefined || namespace === undefined) return;
  const { pair, fingerprint } = decision;
  const arrival = pass.deps.inventory.arrivalOf(refOf(item.object), pair);
  const revision = arrival?.revision ?? pass.revision;
  const intentId = intentIdOf(item.object);
  pass.deps.inventory.record({
    apiVersion: item.object.apiVersion,
    kind: item.object.kind,
    namespace,
    name,
    uid,
    epoch: pair.epoch,
    generation: pair.generation,
    ...(intentId === undefined ? {} : { intentId }),
    sourceKey: item.key,
    mode: arrival?.mode ?? pass.policy.mode,
    ...(revision === undefined ? {} : { revision }),
    fingerprint,
  });
}
