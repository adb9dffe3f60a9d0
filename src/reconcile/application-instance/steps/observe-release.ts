import type { InstancePass, StepResult } from '../instance-pass.ts';
import { releaseVerdict } from '../release-verdict.ts';

export async function observeRelease(pass: InstancePass): Promise<StepResult> {
  const { instance, release } = pass;
  const source = instance.spec.chart.type === 'oci' ? pass.ociRepository : pass.helmRepository;
  // Ensured by the steps before.
  if (source === undefined || release === undefined) return { kind: 'done' };
  return { kind: 'done', verdict: releaseVerdict(instance, source, release) };
}
