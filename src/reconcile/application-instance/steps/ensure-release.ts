import { desiredRelease } from '../desired-release.ts';
import { ensureOwned } from '../ensure-owned.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';

export async function ensureRelease(pass: InstancePass): Promise<StepResult> {
  const desired = desiredRelease(pass.instance, pass.namespace, pass.policy.clusterId);
  const ensured = await ensureOwned(pass, pass.watches.flux.releases, desired, pass.release);
  if (ensured.kind === 'held') return ensured.result;
  // What it says of itself is read in a pass of its own, behind the others: in a burst, releases come before statuses.
  if (pass.release === undefined) return { kind: 'done', requeueAfterMs: 0 };
  pass.release = ensured.object;
  return NEXT;
}
