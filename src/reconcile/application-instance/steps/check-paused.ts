import { findCondition } from '../../../resources/conditions.ts';
import { intentIdOf } from '../../../resources/intent-ids.ts';
import { namespacesElsewhere } from '../../namespaces-elsewhere.ts';
import { writesArePaused } from '../../write-checks.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';
import { paused } from '../verdict.ts';

/**
 * Break-glass. On the object, its namespace or the one that it is installed into every write stops but one: the status
 * says so, once, and says how to go on. On the Cluster that write stops too (it would be one for each object); there the
 * Cluster's own status tells.
 */
export async function checkPaused({ policy, namespace, instance, watches, signal }: InstancePass): Promise<StepResult> {
  const elsewhere = await namespacesElsewhere(watches.namespaces, instance, policy, signal);
  const pause = writesArePaused(policy, namespace, ...elsewhere, instance);
  if (pause === undefined) return NEXT;
  if (policy.paused) return { kind: 'done' };
  const { generation } = instance.metadata;
  const { status } = instance;
  // A Ready of an earlier spec or intent must not pass for this one's.
  const isAbout = status?.observedGeneration === generation && status?.source?.intentId === intentIdOf(instance);
  const before = isAbout ? findCondition(status?.conditions, 'Ready') : undefined;
  return { kind: 'done', verdict: paused(pause.message, before) };
}
