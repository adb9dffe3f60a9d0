import { desiredRelease } from '../desired-release.ts';
import { ensureOwned } from '../ensure-owned.ts';
import { NEXT, toRelease, type InstancePass, type StepResult } from '../instance-pass.ts';
import { withReleasedSpec } from '../released-spec.ts';
import { withPin } from '../rollback-pin.ts';
import { deleteSealedSecret, SEALED_SECRET_ANNOTATION } from '../sealed-secret.ts';

/** Once the release controller has seen that the release reads no sealed values any more, their Secret goes. */
export async function pruneSealedSecret(pass: InstancePass): Promise<StepResult> {
  const { release, instance } = pass;
  const uid = release?.metadata.annotations?.[SEALED_SECRET_ANNOTATION];
  if (instance.spec.sealedValues !== undefined || release === undefined || uid === undefined) return NEXT;
  if (release.status?.observedGeneration !== release.metadata.generation) return NEXT;
  await deleteSealedSecret(pass, uid);
  const made = desiredRelease(toRelease(pass), pass.namespace, pass.policy.clusterId);
  const desired = withPin(withReleasedSpec(made, pass.specHash), pass.pinned?.pin);
  const ensured = await ensureOwned(pass, pass.watches.flux.releases, desired, release);
  if (ensured.kind === 'held') return ensured.result;
  pass.release = ensured.object;
  return NEXT;
}
