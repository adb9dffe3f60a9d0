import { approvalNeed } from '../../../policy/approval-need.ts';
import { releasableHash } from '../../../policy/approvable-hashes.ts';
import type { PolicySituation } from '../../../policy/policy-violation.ts';
import { Reason } from '../../../resources/reasons.ts';
import { namespacesElsewhere } from '../../namespaces-elsewhere.ts';
import { knownUses, takeApproval } from '../../take-approval.ts';
import { asReleased } from '../as-released.ts';
import { isOwned } from '../owned-meta.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { policyVerdict, verdictOf } from '../policy-verdict.ts';
import { releasedSpecOf } from '../released-spec.ts';
import { stalled, type Verdict } from '../verdict.ts';

/** An approval may be of a moment to come, or be waiting for room in the memory; no watch tells of either. */
const LOOK_AGAIN_MS = 60_000;
const OF_APPROVALS: readonly string[] = [Reason.ApprovalMissing, Reason.ApprovalInvalid];
/** The cluster's keys are read when the operator starts. */
const KEYS_RETRY_MS = 1000;
const DOUBT =
  'what says that this spec is released already carries no seal of this operator (somebody wrote it, or the keypair of the cluster was lost since); what runs is left as it is';

/**
 * Nothing is written downstream for what the cluster's policy does not allow. What runs already keeps running. An approval
 * that is needed is used up here, before anything is written.
 */
export async function checkPolicy(pass: InstancePass): Promise<StepResult> {
  const { instance, deps, signal } = pass;
  const ring = deps.keyRing?.() ?? [];
  const { specHash: releasedSpec, isDoubtful } = releasedSpecOf(instance, pass.release, pass.policy.clusterId, ring);
  const situation = { ...(await situationOf(pass)), ...(releasedSpec === undefined ? {} : { releasedSpec }) };
  // Without the keys nobody can say what is released already.
  if (isDoubtful && ring.length === 0 && approvalNeed(instance, situation) !== undefined) {
    return { kind: 'done', requeueAfterMs: KEYS_RETRY_MS };
  }
  const verdict = await policyVerdict(instance, situation, pass.pinned?.instance);
  if (verdict !== undefined) return held(verdict, isDoubtful);
  const taken = await takeApproval(deps.approvals, instance, situation, signal);
  const forbidden = verdictOf(taken.violations);
  if (forbidden !== undefined) return held(forbidden, isDoubtful);
  // Noted where no approval is needed too: one may be from now on, and what stands then needs none.
  const specHash = ('specHash' in taken ? taken.specHash : undefined) ?? releasableHash(instance.spec);
  if (specHash !== undefined) pass.specHash = specHash;
  return NEXT;
}

async function situationOf(pass: InstancePass): Promise<PolicySituation> {
  const { instance, release, namespace, policy, deps, watches, signal } = pass;
  const before = release !== undefined && isOwned(release, instance) ? asReleased(instance, release) : undefined;
  const elsewhere = await namespacesElsewhere(watches.namespaces, instance, policy, signal);
  return {
    namespace,
    policy,
    now: deps.clock.now(),
    ...knownUses(deps.approvals),
    elsewhere,
    ...(before === undefined ? {} : { before }),
  };
}

function held(refusal: Verdict, isDoubtful: boolean): StepResult {
  const { reason, message } = refusal.ready;
  const isLookedAtAgain = OF_APPROVALS.includes(reason);
  const isAboutRelease = isDoubtful && (isLookedAtAgain || reason === Reason.ApprovalUsed);
  const verdict = isAboutRelease ? stalled(reason, `${message}\n${DOUBT}`) : refusal;
  return { kind: 'done', verdict, ...(isLookedAtAgain ? { requeueAfterMs: LOOK_AGAIN_MS } : {}) };
}
