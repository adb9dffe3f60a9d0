import { isTrue } from '../../resources/conditions.ts';
import { intentIdOf, isPruned, tombstoneIntentOf } from '../../resources/intent-ids.ts';
import { TOMBSTONE_ANNOTATION } from '../../resources/labels.ts';
import { refOf } from '../../resources/kube-object.ts';
import { knownPairOf } from '../../resources/known-pair.ts';
import type { EventSource } from '../../protocol/event.ts';
import { isDenied, isNotTaken } from '../../kube/read-failure.ts';
import { greaterPair } from '../source-pair.ts';
import { sourceOf } from '../status-source.ts';
import { writeStatus, type StatusDraft } from '../write-status.ts';
import type { InstancePass } from './instance-pass.ts';
import { detectsDrift } from './reported-drift.ts';
import { tellOfSignature } from './tell-of-signature.ts';
import { conditionsOf, type Verdict } from './verdict.ts';

/** Cluster event when an instance becomes Ready (specification, "Pull-mode end-to-end flow", step 7). */
export const RELEASE_READY_EVENT = 'ReleaseReady';

/** `denied`: without the rights to write it. `refused`: the server takes it in no form that we know; worth a later try. */
export type Saved = 'written' | 'unchanged' | 'denied' | 'refused';

/** Makes the verdict the instance's status, once, and tells of it. */
export async function saveVerdict(pass: InstancePass, verdict: Verdict): Promise<Saved> {
  const before = pass.instance;
  const draft = instanceDraft(pass, verdict);
  const written = await writeStatus(pass.deps, before, draft, pass.signal).catch((error: unknown) => {
    if (isDenied(error) || isNotTaken(error)) return keepUnwritten(pass, draft, error);
    throw error;
  });
  if (written === 'denied' || written === 'refused') return written;
  pass.deps.unwritten.written(before, draft);
  if (written === undefined) return 'unchanged';
  pass.instance = written;
  pass.watches.instances.note(written);
  const had = (type: string): boolean => isTrue(before.status?.conditions, type);
  const has = (type: string): boolean => isTrue(draft.conditions, type);
  if (has('Ready') && !had('Ready')) tell(pass, 'Normal', RELEASE_READY_EVENT, verdict.ready.message);
  const { generation, deletionTimestamp } = before.metadata;
  // A deletion counts as a generation, and brings no new spec.
  const isNewSpec = before.status?.observedGeneration !== generation && deletionTimestamp === undefined;
  if (isNewSpec) await tellOfSignature(pass);
  const bad = verdict.stalled ?? verdict.degraded;
  if ((has('Degraded') && !had('Degraded')) || (has('Stalled') && !had('Stalled'))) {
    tell(pass, 'Warning', bad?.reason ?? 'Degraded', bad?.message ?? '');
  }
  return 'written';
}

/** The control plane is told at least, and the log once for each change: nothing else waits for the status. */
export function keepUnwritten(
  { deps, instance }: InstancePass,
  draft: StatusDraft,
  error: unknown,
): 'denied' | 'refused' {
  const isNews = deps.unwritten.tell(instance, draft);
  if (isDenied(error)) return 'denied';
  const { namespace = '', name } = instance.metadata;
  if (isNews) deps.logger.warn({ err: error, namespace, name }, 'the status cannot be written; all else goes on');
  return 'refused';
}

/** The status that a verdict makes. */
export function instanceDraft({ deps, instance, policy, releasedNote }: InstancePass, verdict: Verdict): StatusDraft {
  const generation = instance.metadata.generation ?? 0;
  const conditions = conditionsOf(
    verdict,
    instance.status?.conditions ?? [],
    { generation, sameSpec: instance.status?.observedGeneration === generation, detectsDrift: detectsDrift(instance) },
    deps.clock.now(),
  );
  const release = verdict.release ?? instance.status?.release;
  const releasedSpec = releasedNote ?? instance.status?.releasedSpec;
  return {
    conditions,
    source: deletionSource({ deps, instance, policy }) ?? sourceOf(instance, deps.inventory, policy),
    rest: { ...(release === undefined ? {} : { release }), ...(releasedSpec === undefined ? {} : { releasedSpec }) },
  };
}

/**
 * What ends an instance is the tombstone's intent, not the one that its spec came from; but where its file was taken out of
 * Git there is no other, and that one is told of its end.
 */
function deletionSource({ deps, instance, policy }: Pick<InstancePass, 'deps' | 'instance' | 'policy'>) {
  const { annotations, deletionTimestamp } = instance.metadata;
  if (annotations?.[TOMBSTONE_ANNOTATION] === undefined || deletionTimestamp === undefined) return undefined;
  const intentId = isPruned(instance) ? intentIdOf(instance) : tombstoneIntentOf(instance);
  // In push mode the mark comes with the order of the tombstone.
  const pair = greaterPair(deps.inventory.lastPair(refOf(instance)), knownPairOf(instance));
  const source: EventSource = {
    mode: policy.mode,
    ...(intentId === undefined ? {} : { intentId }),
    ...(pair === undefined ? {} : { epoch: pair.epoch, generation: pair.generation }),
  };
  return source;
}

function tell(pass: InstancePass, type: 'Normal' | 'Warning', reason: string, message: string): void {
  pass.deps.recorder?.record(pass.instance, { type, reason, message });
}
