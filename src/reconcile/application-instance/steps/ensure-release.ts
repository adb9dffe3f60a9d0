import { desiredRelease } from '../desired-release.ts';
import { ensureOwned } from '../ensure-owned.ts';
import { NEXT, toRelease, type InstancePass, type SealedInputs, type StepResult } from '../instance-pass.ts';
import { isOwned } from '../owned-meta.ts';
import { releasedNote, withReleasedSpec } from '../released-spec.ts';
import { withPin } from '../rollback-pin.ts';
import { SEALED_SECRET_ANNOTATION } from '../sealed-secret.ts';

export async function ensureRelease(pass: InstancePass): Promise<StepResult> {
  const made = desiredRelease(toRelease(pass), pass.namespace, pass.policy.clusterId, sealedInputs(pass));
  const desired = withPin(withReleasedSpec(made, noteFor('HelmRelease', pass)), pass.pinned?.pin);
  const ensured = await ensureOwned(pass, pass.watches.flux.releases, desired, pass.release);
  if (ensured.kind === 'held') return ensured.result;
  // What it says of itself is read in a pass of its own, behind the others: in a burst, releases come before statuses.
  if (pass.release === undefined) return { kind: 'done', requeueAfterMs: 0 };
  pass.release = ensured.object;
  const note = noteFor('ApplicationInstance', pass);
  if (note !== undefined) pass.releasedNote = note;
  return NEXT;
}

function noteFor(place: 'HelmRelease' | 'ApplicationInstance', pass: InstancePass): string | undefined {
  const { specHash, instance, policy, deps } = pass;
  const [key] = deps.keyRing?.() ?? [];
  return specHash === undefined || key === undefined
    ? undefined
    : releasedNote(place, specHash, instance, policy.clusterId, key);
}

/** Where the values are not sealed any more, their Secret is remembered until it is deleted. */
function sealedInputs({ sealed, release, instance }: InstancePass): SealedInputs | undefined {
  if (sealed !== undefined || release === undefined || !isOwned(release, instance)) return sealed;
  const secretUid = release.metadata.annotations?.[SEALED_SECRET_ANNOTATION];
  return secretUid === undefined ? undefined : { secretUid };
}
