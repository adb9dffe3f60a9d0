import { toRelease, type InstancePass, type StepResult } from '../instance-pass.ts';
import { missingDependencies } from '../dependencies.ts';
import { releaseVerdict } from '../release-verdict.ts';
import { rolledBackVerdict } from '../rolled-back-verdict.ts';

export async function observeRelease(pass: InstancePass): Promise<StepResult> {
  const { release, pinned, watches } = pass;
  const instance = toRelease(pass);
  const source = instance.spec.chart.type === 'oci' ? pass.ociRepository : pass.helmRepository;
  const missing = missingDependencies(instance, (namespace, name) => watches.instances.newest(namespace, name));
  // Ensured by the steps before.
  if (source === undefined || release === undefined) return { kind: 'done' };
  const verdict = releaseVerdict(instance, source, release, missing);
  return { kind: 'done', verdict: pinned === undefined ? verdict : rolledBackVerdict(verdict, pinned.pin) };
}
