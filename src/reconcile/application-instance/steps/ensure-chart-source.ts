import { desiredHelmRepository, desiredOciRepository } from '../desired-source.ts';
import { ensureOwned } from '../ensure-owned.ts';
import { NEXT, toRelease, type InstancePass, type StepResult } from '../instance-pass.ts';

export async function ensureChartSource(pass: InstancePass): Promise<StepResult> {
  const { policy, watches } = pass;
  const instance = toRelease(pass);
  if (instance.spec.chart.type === 'helm') {
    const desired = desiredHelmRepository(instance, policy.clusterId);
    const ensured = await ensureOwned(pass, watches.flux.helmRepositories, desired, pass.helmRepository);
    if (ensured.kind === 'held') return ensured.result;
    pass.helmRepository = ensured.object;
    return NEXT;
  }
  const desired = desiredOciRepository(instance, policy.clusterId);
  const ensured = await ensureOwned(pass, watches.flux.ociRepositories, desired, pass.ociRepository);
  if (ensured.kind === 'held') return ensured.result;
  pass.ociRepository = ensured.object;
  return NEXT;
}
