import { MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../../resources/labels.ts';
import { judgeSignature } from '../../policy/judge-signature.ts';
import { reasonOf } from '../../policy/signature-is-not-valid.ts';
import type { InstancePass } from './instance-pass.ts';

/**
 * Warns of an instance that the control plane brought and that is not, or no longer, as it signed it, where that is
 * admitted (specification, "Optional payload signing and encryption"). Called once for each generation. An object that a
 * person made never had a signature and is not warned of.
 */
export async function tellOfSignature({ deps, instance, policy }: InstancePass): Promise<void> {
  if (policy.requireSignedPayloads || instance.metadata.labels?.[MANAGED_BY_LABEL] !== MANAGED_BY_VALUE) return;
  const judged = await judgeSignature(instance, policy);
  if (judged.state === 'valid') return;
  const message = `${judged.message}; it is taken all the same: this cluster does not require signatures (spec.security.requireSignedPayloads of the Cluster)`;
  deps.recorder?.record(instance, { type: 'Warning', reason: reasonOf(judged), message });
}
