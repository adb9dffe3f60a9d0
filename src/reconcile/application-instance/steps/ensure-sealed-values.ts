import { findCondition } from '../../../resources/conditions.ts';
import { Reason } from '../../../resources/reasons.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { openSealedValues } from '../open-sealed-values.ts';
import { isOwned } from '../owned-meta.ts';
import { SEALED_SECRET_ANNOTATION, sealedSecretRef, writeSealedSecret } from '../sealed-secret.ts';
import { stalled } from '../verdict.ts';

/** The cluster's keys are read when the operator starts. */
const KEYS_RETRY_MS = 1000;
/** The keys may be restored from a backup, which nothing here tells of. */
const LOOK_AGAIN_MS = 60_000;

/** Before the release that reads it: the Secret with what was sealed. Releasing without would run other settings than were asked for. */
export async function ensureSealedValues(pass: InstancePass): Promise<StepResult> {
  const { instance, policy, deps } = pass;
  if (instance.spec.sealedValues === undefined) return NEXT;
  const opening = await openSealedValues(instance, policy.clusterId, deps.keyRing?.());
  if (opening.state === 'waiting') return { kind: 'done', requeueAfterMs: KEYS_RETRY_MS };
  if (opening.state === 'failed') return notOpened(pass, opening.message);
  const { shape, valuesKey, values } = opening;
  const ref = sealedSecretRef(pass);
  const uid = ownRelease(pass)?.metadata.annotations?.[SEALED_SECRET_ANNOTATION];
  if (uid !== undefined && reads(pass, ref.name, valuesKey)) {
    pass.sealed = { secretUid: uid, from: { secretName: ref.name, valuesKey, shape } };
    return NEXT;
  }
  const written = await writeSealedSecret(pass, valuesKey, values, uid);
  if (written.state === 'foreign') {
    const message =
      `Secret ${ref.namespace}/${ref.name} exists and was not made from this resource, whose secret values belong there; ` +
      `rename or remove that Secret: kubectl delete secret ${ref.name} -n ${ref.namespace}`;
    return { kind: 'done', verdict: stalled(Reason.ReleaseNotOwned, message), requeueAfterMs: LOOK_AGAIN_MS };
  }
  pass.sealed = { secretUid: written.uid, from: { secretName: ref.name, valuesKey, shape } };
  return NEXT;
}

function ownRelease({ release, instance }: InstancePass): InstancePass['release'] {
  return release !== undefined && isOwned(release, instance) ? release : undefined;
}

/** Whether the release reads just these values already, and finds them. */
function reads(pass: InstancePass, secretName: string, valuesKey: string): boolean {
  const release = ownRelease(pass);
  const isRead = release?.spec.valuesFrom?.some(
    (from) => from.kind === 'Secret' && from.name === secretName && from.valuesKey === valuesKey,
  );
  const state = findCondition(release?.status?.conditions, 'Ready');
  // Flux' words for a Secret that somebody deleted or changed.
  const isMissed = state?.reason === 'ValuesError' && state.message?.includes(secretName) === true;
  return isRead === true && !isMissed;
}

function notOpened({ instance, deps }: InstancePass, fault: string): StepResult {
  const message =
    `spec.sealedValues cannot be opened: ${fault}; nothing is released without them. Seal them anew to the present key with: ` +
    'servicectl reseal CLUSTER --recovery-key FILE, or send them again as secretValues of an update intent';
  const told = findCondition(instance.status?.conditions, 'Stalled');
  const isNews = told?.message !== message || instance.status?.observedGeneration !== instance.metadata.generation;
  if (isNews) deps.onNotOpened?.(instance, message);
  const verdict = stalled(Reason.SealedValuesNotOpened, message);
  return { kind: 'done', verdict, requeueAfterMs: LOOK_AGAIN_MS };
}
