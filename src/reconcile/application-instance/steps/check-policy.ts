import type { PolicySituation } from '../../../policy/policy-violation.ts';
import { Reason } from '../../../resources/reasons.ts';
import { namespacesElsewhere } from '../../namespaces-elsewhere.ts';
import { knownUses, takeApproval } from '../../take-approval.ts';
import { asReleased } from '../as-released.ts';
import { isOwned } from '../owned-meta.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { policyVerdict, verdictOf } from '../policy-verdict.ts';
import { releasedSpecOf } from '../released-spec.ts';
import type { Verdict } from '../verdict.ts';

/** An approval may be of a moment to come, or be waiting for room in the memory; no watch tells of either. */
const LOOK_AGAIN_MS = 60_000;
const OF_APPROVALS: readonly string[] = [Reason.ApprovalMissing, Reason.ApprovalInvalid];

/**
 * Nothing is written downstream for what the cluster's policy does not allow. What runs already keeps running. An approval
 * that is needed is used up here, before anything is written.
 */
export async function checkPolicy(pass: InstancePass): Promise<StepResult> {
  const { instance, deps, signal } = pass;
  const situation = await situationOf(pass);
  const verdict = await policyVerdict(instance, situation, pass.pinned?.instance);
  if (verdict !== undefined) return held(verdict);
  const taken = await takeApproval(deps.approvals, instance, situation, signal);
  const forbidden = verdictOf(taken.violations);
  if (forbidden !== undefined) return held(forbidden);
  if ('specHash' in taken && taken.specHash !== undefined) pass.specHash = taken.specHash;
  return NEXT;
}

async function situationOf(pass: InstancePass): Promise<PolicySituation> {
  const { instance, release, namespace, policy, deps, watches, signal } = pass;
  const before = release !== undefined && isOwned(release, instance) ? asReleased(instance, release) : undefined;
  const releasedSpec = releasedSpecOf(instance, release);
  const elsewhere = await namespacesElsewhere(watches.namespaces, instance, policy, signal);
  return {
    namespace,
    policy,
    now: deps.clock.now(),
    ...knownUses(deps.approvals),
    elsewhere,
    ...(before === undefined ? {} : { before }),
    ...(releasedSpec === undefined ? {} : { releasedSpec }),
  };
}

function held(verdict: Verdict): StepResult {
  const isLookedAtAgain = OF_APPROVALS.includes(verdict.ready.reason);
  return { kind: 'done', verdict, ...(isLookedAtAgain ? { requeueAfterMs: LOOK_AGAIN_MS } : {}) };
}
