import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { policyVerdict } from '../policy-verdict.ts';

/** Nothing is written downstream for what the cluster's policy does not allow. What runs already keeps running. */
export async function checkPolicy({ instance, namespace, policy, deps }: InstancePass): Promise<StepResult> {
  const verdict = policyVerdict(instance, { namespace, policy, now: deps.clock.now() });
  return verdict === undefined ? NEXT : { kind: 'done', verdict };
}
