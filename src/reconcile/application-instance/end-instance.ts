import { KubeError } from '../../kube/cluster-api.ts';
import type { Condition } from '../../protocol/condition.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { findCondition } from '../../resources/conditions.ts';
import { tombstoneIntentOf } from '../../resources/intent-ids.ts';
import { refOf } from '../../resources/kube-object.ts';
import { knownPairOf } from '../../resources/known-pair.ts';
import { APPLICATION_INSTANCE_FINALIZER, META_FIELD_MANAGER } from '../../resources/labels.ts';
import { Reason } from '../../resources/reasons.ts';
import { compareSource } from '../../resources/source-annotation.ts';
import { isLostRace, isNoAnswer, isNotFound } from '../../kube/read-failure.ts';
import { greaterPair } from '../source-pair.ts';
import type { ToldEnd } from '../inventory-record.ts';
import { reportStatus } from '../write-status.ts';
import type { InstancePass, StepResult } from './instance-pass.ts';
import { instanceDraft, keepUnwritten, saveVerdict } from './save-verdict.ts';
import type { Verdict } from './verdict.ts';

/**
 * Writes and reports an instance's last status, then takes the finalizer off. In this order: a crash in between repeats
 * the report, which is the same event again, and never loses it with the object. A status that the server does not take is
 * told to the control plane alone, and holds nothing up.
 */
export async function endInstance(pass: InstancePass, verdict: Verdict): Promise<StepResult> {
  const draft = instanceDraft(pass, verdict);
  const saved = await saveVerdict(pass, verdict).catch((error: unknown) => {
    if (!(error instanceof KubeError) || isNoAnswer(error) || isNotFound(error) || isLostRace(error)) throw error;
    return keepUnwritten(pass, draft, error);
  });
  const { ended, reporter } = pass.deps;
  const { uid = '' } = pass.instance.metadata;
  if (saved === 'unchanged' && !ended.has(uid)) reportStatus(reporter, beforeEnd(pass.instance, verdict), draft);
  ended.add(uid);
  const isKept = saved === 'written' || saved === 'unchanged';
  const told = isKept ? (pass.instance.status?.conditions ?? draft.conditions) : draft.conditions;
  if (rememberEnd(pass, verdict, told)) await pass.deps.saver?.saved(pass.signal);
  await letGo(pass);
  return { kind: 'done' };
}

/** Of an end that another process wrote, and may not have reported: only what that changed is reported again. */
function beforeEnd(instance: ApplicationInstance, { ready }: Verdict): ApplicationInstance {
  const conditions = instance.status?.conditions?.filter(({ reason }) => reason !== ready.reason);
  return { ...instance, status: { ...instance.status, ...(conditions === undefined ? {} : { conditions }) } };
}

/**
 * So that the next pass over the tombstone does not report the same end once more; and in push mode, where no pass has seen
 * it, so that no older delivery brings the object back. Answers whether that has to be written before the object goes.
 */
function rememberEnd(
  { deps, instance, policy }: InstancePass,
  { ready }: Verdict,
  told: readonly Condition[],
): boolean {
  const intentId = tombstoneIntentOf(instance);
  const { name, namespace, uid } = instance.metadata;
  const ref = refOf(instance);
  const pair = greaterPair(deps.inventory.lastPair(ref), knownPairOf(instance));
  if (namespace === undefined || pair === undefined) return false;
  if (intentId === undefined && policy.mode !== 'push') return false;
  const known = deps.inventory.deleted(ref);
  const isNews = known === undefined || compareSource(pair, known) > 0;
  deps.inventory.remember({
    apiVersion: instance.apiVersion,
    kind: instance.kind,
    namespace,
    name,
    epoch: pair.epoch,
    generation: pair.generation,
    at: deps.clock.now().toISOString(),
    ...(uid === undefined ? {} : { uid }),
    ...(intentId === undefined ? {} : { reportedFor: intentId }),
    told: toldEnd(instance, told),
  });
  // Of what stays, whoever starts next would find nothing under its name and call it uninstalled.
  return isNews && (policy.mode === 'push' || ready.reason === Reason.Orphaned);
}

/** How the end was reported; a message that is too long to keep is another event when it is told again. */
function toldEnd({ metadata }: ApplicationInstance, conditions: readonly Condition[]): ToldEnd {
  const { reason = '', message = '', lastTransitionTime = '' } = findCondition(conditions, 'Ready') ?? {};
  const { uid, generation } = metadata;
  return {
    reason,
    message: message.slice(0, 2000).toWellFormed(),
    at: lastTransitionTime,
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
  };
}

/** Takes our finalizer off. @throws KubeError */
export async function letGo(pass: InstancePass): Promise<void> {
  const { deps, instance, signal } = pass;
  const { finalizers = [], resourceVersion } = instance.metadata;
  try {
    pass.instance = await deps.api.mergePatch<ApplicationInstance>(
      refOf(instance),
      {
        metadata: {
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          finalizers: finalizers.filter((finalizer) => finalizer !== APPLICATION_INSTANCE_FINALIZER),
        },
      },
      { fieldManager: META_FIELD_MANAGER },
      signal,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
