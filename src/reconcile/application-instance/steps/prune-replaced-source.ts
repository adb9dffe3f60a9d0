import { refOf } from '../../../resources/kube-object.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { isOwned } from '../owned-meta.ts';

/** After the release reads its chart from the new kind of source, the old one goes. */
export async function pruneReplacedSource(pass: InstancePass): Promise<StepResult> {
  const replaced = pass.instance.spec.chart.type === 'oci' ? pass.helmRepository : pass.ociRepository;
  const uid = replaced?.metadata.uid;
  if (replaced === undefined || uid === undefined || replaced.metadata.deletionTimestamp !== undefined) return NEXT;
  if (isOwned(replaced, pass.instance)) await pass.deps.api.delete(refOf(replaced), { uid }, pass.signal);
  return NEXT;
}
