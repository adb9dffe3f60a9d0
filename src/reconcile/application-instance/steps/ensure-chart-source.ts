import { HELM_REPOSITORY, type HelmRepository } from '../../../resources/flux-helm-repository.ts';
import type { OciRepository } from '../../../resources/flux-oci-repository.ts';
import { desiredSource } from '../desired-source.ts';
import { ensureOwned } from '../ensure-owned.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';

export async function ensureChartSource(pass: InstancePass): Promise<StepResult> {
  const desired = desiredSource(pass.instance, pass.policy.clusterId);
  if (desired.kind === HELM_REPOSITORY.kind) {
    const { helmRepositories } = pass.watches;
    const ensured = await ensureOwned(pass, helmRepositories, desired as HelmRepository, pass.helmRepository);
    if (ensured.kind === 'held') return ensured.result;
    pass.helmRepository = ensured.object;
    return NEXT;
  }
  const { ociRepositories } = pass.watches;
  const ensured = await ensureOwned(pass, ociRepositories, desired as OciRepository, pass.ociRepository);
  if (ensured.kind === 'held') return ensured.result;
  pass.ociRepository = ensured.object;
  return NEXT;
}
