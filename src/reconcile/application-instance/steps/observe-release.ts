import { toRelease, type InstancePass, type StepResult } from '../instance-pass.ts';
import { missingDependencies } from '../dependencies.ts';
import { detectsDrift, LOOK_FOR_DRIFT_MS, reportedDrift } from '../reported-drift.ts';
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
  const told = pinned === undefined ? verdict : rolledBackVerdict(verdict, pinned.pin);
  // Before it runs there is nothing to differ from; while it does not, what was said last holds.
  if (!detectsDrift(pass.instance) || told.ready.status !== 'True') return { kind: 'done', verdict: told };
  const drifted = await reportedDrift(pass, release);
  const verdictWithDrift = drifted === undefined ? told : { ...told, drifted };
  return { kind: 'done', verdict: verdictWithDrift, requeueAfterMs: LOOK_FOR_DRIFT_MS };
}
