import type { KubeObject } from '../resources/kube-object.ts';
import { Reason } from '../resources/reasons.ts';
import type { ClusterPolicy } from './cluster-policy.ts';
import { judgeSignature, type SignatureState } from './judge-signature.ts';
import type { PolicySituation, PolicyViolation } from './policy-violation.ts';

/**
 * The cluster requires signed payloads, and the object is not as the control plane signed it: unsigned, or its spec was
 * changed since. Where signatures are not required this forbids nothing: what was delivered has been verified as it came in,
 * and what a cluster's admin does to the object since is theirs to do.
 */
export async function signatureIsNotValid(
  object: KubeObject,
  { policy }: Pick<PolicySituation, 'policy'>,
): Promise<readonly PolicyViolation[]> {
  if (!policy.requireSignedPayloads) return [];
  const judged = await judgeSignature(object, policy);
  if (judged.state === 'valid') return [];
  return [{ reason: reasonOf(judged), message: `${judged.message}; this cluster requires one; ${remedy(policy)}` }];
}

/** The reason and words for a state that is not `valid`. */
export function reasonOf({ state }: Exclude<SignatureState, { state: 'valid' }>): Reason {
  return state === 'missing' ? Reason.SignatureMissing : Reason.SignatureInvalid;
}

/** How an object comes to a good signature again. */
function remedy(policy: ClusterPolicy): string {
  return `${deliverAnew(policy)}; what was changed here by hand is first taken back with kubectl edit, or asked for in that intent`;
}

export function deliverAnew({ clusterId }: Pick<ClusterPolicy, 'clusterId'>): string {
  return `deliver it anew with an update intent: POST /api/v1/clusters/${clusterId}/intents`;
}
