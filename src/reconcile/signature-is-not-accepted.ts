import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { SignatureState } from '../policy/judge-signature.ts';
import { deliverAnew, reasonOf } from '../policy/signature-is-not-valid.ts';
import { refused, type Refusal } from './refusal.ts';

/**
 * What comes in and carries a signature is verified, whatever the cluster requires: one that is not good means that it was
 * altered on the way (specification, "Endpoints", rule 5). One that is missing is admitted unless it is required.
 */
export function signatureIsNotAccepted({
  signature,
  policy,
}: {
  readonly signature: SignatureState;
  readonly policy: Pick<ClusterPolicy, 'clusterId' | 'requireSignedPayloads'>;
}): Refusal | undefined {
  if (signature.state === 'valid') return undefined;
  if (signature.state === 'missing' && !policy.requireSignedPayloads) return undefined;
  const why = signature.state === 'missing' ? 'this cluster requires one' : 'nothing was changed';
  return refused(
    reasonOf(signature),
    `${signature.message}; ${why}; restore what was delivered, or ${deliverAnew(policy)}`,
  );
}
