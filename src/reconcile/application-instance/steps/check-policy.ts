import { asReleased } from '../as-released.ts';
import { isOwned } from '../owned-meta.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { policyVerdict } from '../policy-verdict.ts';

/** Nothing is written downstream for what the cluster's policy does not allow. What runs already keeps running. */
export async function checkPolicy({ instance, release, namespace, policy, deps }: InstancePass): Promise<StepResult> {
  const before = release !== undefined && isOwned(release, instance) ? asReleased(instance, release) : undefined;
  const verdict = await policyVerdict(instance, {
    namespace,
    policy,
    now: deps.clock.now(),
    ...(before === undefined ? {} : { before }),
  });
  return verdict === undefined ? NEXT : { kind: 'done', verdict };
}
